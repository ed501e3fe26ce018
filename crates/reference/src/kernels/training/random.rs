//! Random numbers: `RandomNormal`, `RandomUniform`, their `Like` forms, `Bernoulli`, `Multinomial`, `Dropout`.
//!
//! The standard does not specify the generator. Here, every number is a function of a 64-bit seed, so runs are
//! reproducible everywhere. The generator is `SplitMix64`: its state starts as the seed, and its upper 53 bits give a
//! number in [0, 1). Normal numbers are generated in pairs, by the Box-Muller transform. A float seed is the bits of
//! its `f64`, an integer seed its 64 bits. Without a seed, [`Budget::fresh_seed`] gives a new one to each node that
//! runs.
//!
//! [`Budget::fresh_seed`]: crate::kernels::framework::budget::Budget::fresh_seed

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::training::shapes;
use crate::tensor::Tensor;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Bernoulli", 15, bernoulli).shape(rules::same).typed(shapes::type_like_input),
    Kernel::new("Dropout", 1, |call| {
        let mask = call.tensor(0)?.element_type();
        if call.flag("is_test")? { copy_unchanged(call, mask) } else { drop_elements(call, call.float("ratio")?, mask) }
    })
    .shapes_of_all(rules::all_same)
    .typed(shapes::mask_type),
    Kernel::new("Dropout", 7, |call| copy_unchanged(call, call.tensor(0)?.element_type()))
        .shapes_of_all(rules::all_same)
        .typed(shapes::mask_type),
    Kernel::new("Dropout", 10, |call| copy_unchanged(call, ElementType::Bool))
        .shapes_of_all(rules::all_same)
        .typed(shapes::mask_type),
    Kernel::new("Dropout", 12, dropout).shapes_of_all(rules::all_same).typed(shapes::mask_type),
    Kernel::new("Multinomial", 7, multinomial).shape(shapes::samples).typed(shapes::type_by_attribute),
    Kernel::new("RandomNormal", 1, |call| random(call, &shape(call)?, None, normal(call)?))
        .shape(shapes::shape_attribute)
        .typed(shapes::type_by_attribute),
    Kernel::new("RandomNormalLike", 1, |call| like(call, normal(call)?))
        .shape(rules::same)
        .typed(shapes::type_like_input),
    Kernel::new("RandomUniform", 1, |call| random(call, &shape(call)?, None, uniform(call)?))
        .shape(shapes::shape_attribute)
        .typed(shapes::type_by_attribute),
    Kernel::new("RandomUniformLike", 1, |call| like(call, uniform(call)?))
        .shape(rules::same)
        .typed(shapes::type_like_input),
];

/// `SplitMix64`.
struct Generator {
    state: u64,
    /// Second of a pair of normal numbers.
    spare: Option<f64>,
}

impl Generator {
    fn from_call(call: &Call<'_>) -> Generator {
        let seed = call.optional_float("seed").map(f64::to_bits);
        let seed = seed.or_else(|| call.optional_int("seed").map(i64::cast_unsigned));
        Generator { state: seed.unwrap_or_else(|| call.budget.fresh_seed()), spare: None }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in [0, 1), a multiple of 2^-53.
    fn uniform_in_unit_interval(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number from the standard normal distribution.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform_in_unit_interval()));
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * self.uniform_in_unit_interval());
        self.spare = Some(radius * sin);
        radius * cos
    }
}

/// Distribution of random numbers.
#[derive(Clone, Copy)]
enum Distribution {
    Normal { mean: f64, scale: f64 },
    Uniform { low: f64, high: f64 },
}

impl Distribution {
    fn draw(self, generator: &mut Generator) -> f64 {
        match self {
            Distribution::Normal { mean, scale } => mean + scale * generator.normal(),
            Distribution::Uniform { low, high } => low + (high - low) * generator.uniform_in_unit_interval(),
        }
    }
}

fn normal(call: &Call<'_>) -> Result<Distribution, KernelError> {
    Ok(Distribution::Normal { mean: call.float("mean")?, scale: call.float("scale")? })
}

fn uniform(call: &Call<'_>) -> Result<Distribution, KernelError> {
    Ok(Distribution::Uniform { low: call.float("low")?, high: call.float("high")? })
}

/// Returns a tensor of random numbers, of the type given by `dtype`, or else of `default`.
fn random(call: &Call<'_>, shape: &[usize], default: Option<ElementType>, distribution: Distribution) -> Result {
    let element = match (call.output_type("dtype", 0)?, default) {
        (Some(element), _) => element,
        (None, Some(element)) => call.output_element(0, element).rule("C3")?,
        (None, None) => return Err(invalid("attribute dtype is not set")),
    };
    let buffer = call.allocate(element, shape)?;
    let mut generator = Generator::from_call(call);
    let count = buffer.len();
    Ok(buffer.floats((0..count).map(|_| distribution.draw(&mut generator)))?.into())
}

fn like(call: &Call<'_>, distribution: Distribution) -> Result {
    let input = call.tensor(0)?;
    random(call, input.shape(), Some(input.element_type()), distribution)
}

fn shape(call: &Call<'_>) -> Result<Vec<usize>, KernelError> {
    let size = |&dim: &i64| {
        usize::try_from(dim).map_err(|_| invalid(format!("attribute shape contains {dim}; a size must be 0 or more")))
    };
    call.ints("shape")?.iter().map(size).collect()
}

/// Bernoulli: 1 with the probability given by the input, else 0.
///
/// This follows the text. The function body compares in the other direction, and gives ones with the opposite
/// probability.
fn bernoulli(call: &Call<'_>) -> Result {
    let input = call.tensor(0)?;
    let element = match call.output_type("dtype", 0)? {
        Some(element) => element,
        None => call.output_element(0, input.element_type())?,
    };
    let probabilities = || call.budget.timed(input.stream(Tensor::floats));
    if let Some(outside) = probabilities().find(|p| !(0.0..=1.0).contains(p)) {
        return Err(broken("C3", format!("the input contains {outside}; a probability must be in [0, 1]")));
    }
    let mut generator = Generator::from_call(call);
    let draws = probabilities().map(|p| generator.uniform_in_unit_interval() < p);
    Ok(call.allocate(element, input.shape())?.bools(draws)?.into())
}

/// Multinomial: draws outcomes of each row, which holds unnormalized log-probabilities. Each outcome is the first whose
/// cumulative probability is above a uniform number.
fn multinomial(call: &Call<'_>) -> Result {
    let input = call.tensor(0)?;
    let &[batches, classes] = input.shape() else {
        return Err(broken(
            "C3",
            format!("the input has shape {:?}; it must be [batch_size, class_size]", input.shape()),
        ));
    };
    let samples = call.int("sample_size")?;
    let samples = usize::try_from(samples).map_err(|_| invalid(format!("attribute sample_size is {samples}")))?;
    let element = call.output_type("dtype", 0)?.unwrap_or(ElementType::Int32);
    let buffer = call.allocate(element, &[batches, samples])?;
    let mut generator = Generator::from_call(call);
    let mut outcomes: Vec<i128> = call.budget.scratch(buffer.len())?;
    let logarithms = call.budget.read_floats(input)?;
    let mut bounds: Vec<f64> = call.budget.scratch(classes)?;
    for batch in 0..if samples == 0 { 0 } else { batches } {
        let row = logarithms.iter().skip(batch * classes).take(classes);
        let total = cumulate(row, &mut bounds)?;
        for outcome in call.budget.timed(outcomes.iter_mut().skip(batch * samples).take(samples)) {
            let draw = (total * generator.uniform_in_unit_interval()).min(total.next_down());
            *outcome = bounds.partition_point(|&bound| bound <= draw) as i128;
        }
        call.budget.count_work(classes)?;
    }
    Ok(buffer.integers(outcomes)?.into())
}

/// Writes the cumulative probabilities, scaled so that the most likely outcome has 1, and returns their total.
fn cumulate<'a>(row: impl Iterator<Item = &'a f64> + Clone, bounds: &mut [f64]) -> Result<f64, KernelError> {
    let greatest = row.clone().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for (&logarithm, bound) in row.zip(bounds) {
        total += libm::exp(logarithm - greatest);
        *bound = total;
    }
    if total.is_finite() && total > 0.0 {
        return Ok(total);
    }
    Err(invalid("a row of the input is not a distribution: its maximum must be finite, and it must not contain NaN"))
}

/// Dropout since version 12: `training_mode` enables dropping, and `ratio` is an input.
fn dropout(call: &Call<'_>) -> Result {
    let training = match call.optional_tensor(2)? {
        Some(mode) => mode.single_integer().ok_or_else(|| not_a_scalar("training_mode", mode))? != 0,
        None => false,
    };
    let ratio = match call.optional_tensor(1)? {
        Some(ratio) => ratio.single_float().ok_or_else(|| not_a_scalar("ratio", ratio))?,
        None => 0.5,
    };
    if !training {
        return copy_unchanged(call, ElementType::Bool);
    }
    drop_elements(call, ratio, ElementType::Bool)
}

fn not_a_scalar(name: &str, tensor: &Tensor) -> KernelError {
    broken("C6", format!("{name} has shape {:?}; it must be a scalar", tensor.shape()))
}

/// Returns the data unchanged, and a mask of ones.
fn copy_unchanged(call: &Call<'_>, mask: ElementType) -> Result {
    let data = call.tensor(0)?;
    masked(call, Value::from(data.clone()), mask, (0..data.len()).map(|_| true))
}

/// Returns data times mask times `1 / (1 - ratio)`. The mask drops each element with probability `ratio`.
fn drop_elements(call: &Call<'_>, ratio: f64, mask_type: ElementType) -> Result {
    if !(0.0..1.0).contains(&ratio) {
        return Err(broken("C6", format!("ratio is {ratio}; it must be in [0, 1)")));
    }
    if ratio == 0.0 {
        return copy_unchanged(call, mask_type);
    }
    let data = call.tensor(0)?;
    let mut generator = Generator::from_call(call);
    let mut mask: Vec<bool> = call.budget.scratch(data.len())?;
    for kept in call.budget.timed(mask.iter_mut()) {
        *kept = generator.uniform_in_unit_interval() >= ratio;
    }
    let scale = 1.0 / (1.0 - ratio);
    let scaled = data.stream(Tensor::floats).zip(&mask).map(|(x, &kept)| scale * x * f64::from(u8::from(kept)));
    let output = call.floats(data.element_type(), data.shape(), scaled)?;
    masked(call, output.into(), mask_type, mask)
}

/// Returns the output and, if requested, the mask: in the type of the data before version 10, else as `bool`.
fn masked(call: &Call<'_>, output: Value, element: ElementType, mask: impl IntoIterator<Item = bool>) -> Result {
    let mut outputs = vec![Some(output)];
    if call.wants(1) {
        let data = call.tensor(0)?;
        outputs.push(Some(call.allocate(element, data.shape())?.bools(mask)?.into()));
    }
    Ok(Outputs(outputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::testing::{OneNode, floats, node, strings, typed};
    use ElementType as E;

    fn uniform_of(count: i64) -> OneNode {
        node("RandomUniform", 22).set("shape", &[count][..])
    }

    #[test]
    fn the_generator_is_split_mix_64() {
        // First outputs for seed 0 of the algorithm's reference implementation.
        let mut generator = Generator { state: 0, spare: None };
        let outputs = [generator.next(), generator.next(), generator.next()];
        assert_eq!(outputs, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }

    #[test]
    fn a_seed_repeats_and_another_does_not() {
        let draw = |seed: f32| uniform_of(8).set("seed", seed).tensor().floats();
        assert_eq!(draw(1.0), draw(1.0));
        assert_ne!(draw(1.0), draw(2.0));
        let unseeded =
            |seed: u64| uniform_of(8).limits(ExecutionLimits { seed, ..ExecutionLimits::default() }).tensor().floats();
        assert_eq!(unseeded(0), unseeded(0));
        assert_ne!(unseeded(0), unseeded(1));
    }

    #[test]
    fn draws_follow_their_distributions() {
        let count = 10_000.0;
        let x = uniform_of(10_000).set("low", -1.0).set("high", 3.0).set("seed", 5.0).tensor().floats();
        assert!(x.iter().all(|x| (-1.0..=3.0).contains(x)));
        assert!((x.iter().sum::<f64>() / count - 1.0).abs() < 0.05);
        let node = node("RandomNormal", 1).set("shape", &[10_000][..]).set("mean", 2.0).set("scale", 3.0);
        let x = node.set("seed", 5.0).set("dtype", 11).tensor();
        assert_eq!(x.element_type(), E::Double);
        let mean = x.floats().iter().sum::<f64>() / count;
        let variance = x.floats().iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        assert!((mean - 2.0).abs() < 0.1 && (variance - 9.0).abs() < 0.5, "mean {mean}, variance {variance}");
    }

    #[test]
    fn like_forms_take_shape_and_type_from_the_input() {
        let half = typed(E::Float16, &[2, 3], &[0.0; 6]);
        let x = node("RandomUniformLike", 1).input(half).tensor();
        assert_eq!((x.element_type(), x.shape()), (E::Float16, &[2, 3][..]));
        let x = node("RandomNormalLike", 1).input(strings(&[1], &["a"])).set("dtype", 1).tensor();
        assert_eq!((x.element_type(), x.shape()), (E::Float, &[1][..]));
        node("RandomUniform", 1).set("shape", &[2][..]).set("dtype", 16).error();
        node("RandomUniform", 1).set("shape", &[-2][..]).error();
    }

    #[test]
    fn a_batch_without_a_possible_class_is_refused() {
        let never = f64::NEG_INFINITY;
        node("Multinomial", 7).input(floats(&[1, 2], &[never, never])).error();
    }

    #[test]
    fn multinomial_samples_by_the_exponentials() {
        let input = floats(&[1, 2], &[0.0, std::f64::consts::LN_2]);
        let draws = node("Multinomial", 22).input(input).set("sample_size", 9000).set("seed", 1.0).set("dtype", 7);
        let ones: f64 = draws.tensor().floats().iter().sum();
        assert!((ones / 9000.0 - 2.0 / 3.0).abs() < 0.03, "{ones} of 9000");
    }

    fn both(node: OneNode) -> (Tensor, Tensor) {
        let outputs = node.outputs(2).run().unwrap();
        let mut tensors = outputs.iter().filter_map(Value::as_tensor).cloned();
        (tensors.next().unwrap(), tensors.next().unwrap())
    }

    #[test]
    fn below_12_the_mask_of_copied_data_is_all_ones() {
        let data = floats(&[3], &[1.0, -2.0, 3.0]);
        let rows = [
            (node("Dropout", 1).input(data.clone()).set("is_test", 1), E::Float),
            (node("Dropout", 6).input(data.clone()).set("is_test", 1), E::Float),
            (node("Dropout", 7).input(data.clone()), E::Float),
            (node("Dropout", 10).input(data.clone()), E::Bool),
        ];
        for (node, element) in rows {
            let (output, mask) = both(node);
            assert_eq!(output, data);
            assert_eq!((mask.element_type(), mask.floats()), (element, vec![1.0; 3]));
        }
    }

    #[test]
    fn kept_elements_are_scaled_and_marked_in_the_mask() {
        let data = floats(&[1000], &(1..=1000).map(f64::from).collect::<Vec<_>>());
        let training = node("Dropout", 12).input(data.clone()).input(floats(&[], &[0.75]));
        let training = training.input(typed(E::Bool, &[], &[1.0])).set("seed", 3);
        for node in [training, node("Dropout", 1).input(data.clone()).set("ratio", 0.75)] {
            let (output, mask) = both(node);
            let kept: f64 = mask.floats().iter().sum();
            assert!((150.0..350.0).contains(&kept), "{kept} of 1000 are kept");
            for ((y, kept), x) in output.floats().into_iter().zip(mask.floats()).zip(data.floats()) {
                assert_eq!(y, 4.0 * x * kept);
            }
        }
    }
}
