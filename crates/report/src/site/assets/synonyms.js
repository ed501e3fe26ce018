"use strict";

/** Words of the field, each with the names that ONNX has for them. The search tries the names, too. */
site.SYNONYMS = {
  // Types.
  bf16: ["bfloat16"], "brain float": ["bfloat16"], fp16: ["float16"], f16: ["float16"], half: ["float16"], "half precision": ["float16"],
  fp32: ["float"], f32: ["float"], float32: ["float"], single: ["float"], "single precision": ["float"],
  fp64: ["double"], f64: ["double"], float64: ["double"], "double precision": ["double"],
  fp8: ["float8"], e4m3: ["float8e4m3fn"], e5m2: ["float8e5m2"], fp6: ["float6"], fp4: ["float4e2m1"], mxfp8: ["float8", "float8e8m0"],
  i4: ["int4"], i8: ["int8"], i16: ["int16"], i32: ["int32"], i64: ["int64"], u4: ["uint4"], u8: ["uint8"], u16: ["uint16"], u32: ["uint32"], u64: ["uint64"],
  long: ["int64"], short: ["int16"], byte: ["uint8"], str: ["string"], text: ["string"], boolean: ["bool"], complex: ["complex64"],
  // Runtimes and tools.
  ort: ["onnxruntime"], "onnx rt": ["onnxruntime"], ov: ["openvino"], cv2: ["opencv"], sonos: ["tract"], "reference evaluator": ["onnx reference"],
  // Convolution and pooling.
  deconvolution: ["ConvTranspose"], deconv: ["ConvTranspose"], "transposed convolution": ["ConvTranspose"], "transpose convolution": ["ConvTranspose"],
  "fractionally strided convolution": ["ConvTranspose"], "depthwise convolution": ["Conv group"], "grouped convolution": ["Conv group"],
  "atrous convolution": ["Conv dilations"], "dilated convolution": ["Conv dilations"], "deformable convolution": ["DeformConv"],
  fold: ["Col2Im"], unpool: ["MaxUnpool"], gap: ["GlobalAveragePool"], "adaptive average pool": ["GlobalAveragePool"], avgpool: ["AveragePool"], "avg pool": ["AveragePool"],
  // Linear algebra.
  "fully connected": ["Gemm", "MatMul"], dense: ["Gemm", "MatMul"], "linear layer": ["Gemm", "MatMul"], addmm: ["Gemm"], "affine layer": ["Gemm"],
  "matrix multiplication": ["MatMul", "Gemm"], "matrix product": ["MatMul", "Gemm"], bmm: ["MatMul"], mm: ["MatMul"], "dot product": ["MatMul"], determinant: ["Det"],
  triangular: ["Trilu"], triu: ["Trilu"], tril: ["Trilu"], "identity matrix": ["EyeLike"],
  // Activations.
  silu: ["Swish"], "swish 1": ["Swish"], glu: ["SwiGLU"], "parametric relu": ["PRelu"], "leaky rectifier": ["LeakyRelu"], rectifier: ["Relu"], relu6: ["Clip"], clamp: ["Clip"],
  logistic: ["Sigmoid", "logistic"], "soft maximum": ["Softmax"],
  // Normalization and attention.
  bn: ["BatchNormalization"], ln: ["LayerNormalization"], gn: ["GroupNormalization"], "instance norm": ["InstanceNormalization"],
  "local response normalization": ["LRN"], "l2 normalize": ["LpNormalization"],
  mha: ["Attention"], gqa: ["Attention"], sdpa: ["Attention"], "self attention": ["Attention"], "multi head attention": ["Attention"], "multihead attention": ["Attention"],
  "scaled dot product attention": ["Attention"], "flash attention": ["Attention"], "kv cache": ["TensorScatter", "Attention"],
  rope: ["RotaryEmbedding"], "rotary position embedding": ["RotaryEmbedding"],
  // Movement of elements.
  permute: ["Transpose"], "swap axes": ["Transpose"], view: ["Reshape"], repeat: ["Tile"], "broadcast to": ["Expand"], stack: ["Concat", "ConcatFromSequence"],
  concatenate: ["Concat"], cat: ["Concat"], join: ["Concat"], chunk: ["Split"], "embedding lookup": ["Gather"], embedding: ["Gather"], "index select": ["Gather"], take: ["Gather"], lookup: ["Gather"],
  "pixel shuffle": ["DepthToSpace"], "pixel unshuffle": ["SpaceToDepth"], fill: ["ConstantOfShape"], full: ["ConstantOfShape"], zeros: ["ConstantOfShape"], arange: ["Range"],
  select: ["Where"], ternary: ["Where"], "masked fill": ["Where"], "boolean mask": ["Compress"], flip: ["Slice", "ReverseSequence"], crop: ["Slice", "CenterCropPad"], astype: ["Cast"], convert: ["Cast", "tools"],
  // Images.
  interpolate: ["Resize"], interpolation: ["Resize"], "bilinear interpolation": ["Resize linear"], bilinear: ["linear"], bicubic: ["cubic"], upsampling: ["Upsample", "Resize"], downsample: ["Resize"], zoom: ["Resize"],
  nms: ["NonMaxSuppression"], "spatial transformer": ["GridSample", "AffineGrid"], "roi pooling": ["MaxRoiPool", "RoiAlign"],
  // Reduction and sorting.
  sort: ["TopK"], "log sum exp": ["ReduceLogSumExp"], average: ["ReduceMean", "Mean"], "cumulative sum": ["CumSum"], prefix: ["CumSum"], norm: ["normalization"],
  // Sound, recurrent networks, control flow.
  fft: ["DFT", "STFT"], rfft: ["DFT"], ifft: ["DFT inverse"], fourier: ["DFT"], spectrogram: ["STFT"], mel: ["MelWeightMatrix"], "hann window": ["HannWindow"],
  while: ["Loop"], for: ["Loop"], branch: ["If"], conditional: ["If"], map: ["SequenceMap"], "recurrent network": ["recurrent"],
  // Quantization.
  quantization: ["QuantizeLinear"], dequantization: ["DequantizeLinear"], qdq: ["QuantizeLinear", "DequantizeLinear"], "fake quantize": ["QuantizeLinear"], qgemm: ["QLinearMatMul", "MatMulInteger"],
  // Elements.
  modulo: ["Mod"], remainder: ["Mod"], multiply: ["Mul"], subtract: ["Sub"], divide: ["Div"], power: ["Pow"], "square root": ["Sqrt"], negate: ["Neg"], natural: ["Log"], inverse: ["Reciprocal"], "bitwise shift": ["BitShift"], reinterpret: ["BitCast"],
  maximum: ["Max"], minimum: ["Min"],
  // Classical learning.
  "random forest": ["TreeEnsemble"], "decision tree": ["TreeEnsemble"], "gradient boosting": ["TreeEnsemble"], xgboost: ["TreeEnsemble"], lightgbm: ["TreeEnsemble"],
  "support vector machine": ["SVMClassifier"], svm: ["SVMClassifier", "SVMRegressor"], "logistic regression": ["LinearClassifier"], "linear regression": ["LinearRegressor"],
  "standard scaler": ["Scaler"], "missing values": ["Imputer"], tfidf: ["TfIdfVectorizer"], "bag of words": ["TfIdfVectorizer"], tokenizer: ["StringSplit", "StringNormalizer"],
  // Words for states and pages.
  bug: ["findings"], bugs: ["findings"], issues: ["findings"], wrong: ["wrong"], segfault: ["crashes"], hang: ["crashes"], unsupported: ["declined"], "not supported": ["declined"],
  invalid: ["accepts invalid"], ulp: ["inexact"], precision: ["inexact"], validate: ["check model"], netron: ["check model"], upload: ["check model"], fusion: ["graphs"], fusions: ["graphs"],
  optimizer: ["graphs", "tools"], "version converter": ["tools"], "shape inference": ["tools"], simplifier: ["tools"], difference: ["compare"], versus: ["compare"], regression: ["compare"],
};
