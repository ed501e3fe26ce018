//! `ImageDecoder`: decodes encoded images.

use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_jpeg2000::{DecodeSettings, DecoderContext};
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader};

use crate::dtype::ElementType;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Ruled};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::image::shapes;

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("ImageDecoder", 20, image_decoder).shape(shapes::decoded_image)];

/// Encoded bytes that a decoder reads between two checks of the clock. They decode in a few milliseconds.
const READ: usize = 1 << 9;

/// Maximum number of pixels for a format whose decoder first reads the whole file: about half a second of work.
const WHOLE: usize = 1 << 25;

/// Maximum number of pixels of a JPEG 2000 image, whose decoder is slower.
const WHOLE_JPEG2000: usize = 1 << 22;

/// Bytes per pixel in memory: its samples, of up to 16 bits each, and its 8-bit colours.
const BYTES_OF_A_PIXEL: usize = 12;

/// Image of 8-bit red, green and blue, row by row.
struct Picture {
    height: usize,
    width: usize,
    pixels: Vec<u8>,
}

/// Order and number of an output's channels.
#[derive(Clone, Copy)]
enum PixelFormat {
    Rgb,
    Bgr,
    Grayscale,
}

/// `ImageDecoder`: the decoded image, `[height, width, channels]`. It has no pixels if decoding fails.
fn image_decoder(call: &Call<'_>) -> Result {
    let format = call
        .one_of(
            "pixel_format",
            &[("RGB", PixelFormat::Rgb), ("BGR", PixelFormat::Bgr), ("Grayscale", PixelFormat::Grayscale)],
        )
        .rule("C3")?;
    let encoded = call.tensor(0)?.bytes();
    // The standard requires an empty image for any failure, including a panic of a decoder.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(call.budget, encoded))).unwrap_or(Ok(None));
    call.budget.check_time()?;
    let picture = decoded?.unwrap_or(Picture { height: 0, width: 0, pixels: Vec::new() });
    let (channels, pixels) = match format {
        PixelFormat::Rgb => (3, picture.pixels),
        PixelFormat::Bgr => (3, reversed(picture.pixels)),
        PixelFormat::Grayscale => (1, brightness(&picture.pixels)),
    };
    Ok(call.allocate(ElementType::Uint8, &[picture.height, picture.width, channels])?.bytes(pixels)?.into())
}

/// Reader of the encoded bytes, in small pieces, until the deadline.
struct Timed<'a> {
    encoded: Cursor<&'a [u8]>,
    budget: &'a Budget,
}

impl BufRead for Timed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.budget.deadline().is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let rest = self.encoded.fill_buf()?;
        Ok(rest.get(..READ).unwrap_or(rest))
    }

    fn consume(&mut self, amount: usize) {
        self.encoded.consume(amount);
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl Seek for Timed<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.encoded.seek(to)
    }
}

/// Decodes the bytes. Returns `None` if they are not an image.
fn decode(budget: &Budget, encoded: &[u8]) -> Result<Option<Picture>> {
    const JP2: &[u8] = b"\0\0\0\x0cjP  ";
    const CODESTREAM: &[u8] = b"\xff\x4f\xff\x51";
    if encoded.starts_with(JP2) || encoded.starts_with(CODESTREAM) {
        return decode_jpeg2000(budget, encoded);
    }
    let reader = ImageReader::new(Timed { encoded: Cursor::new(encoded), budget });
    let Ok(reader) = reader.with_guessed_format() else { return Ok(None) };
    let is_whole = matches!(reader.format(), Some(ImageFormat::Jpeg | ImageFormat::WebP | ImageFormat::Tiff));
    let Ok(decoder) = reader.into_decoder() else { return Ok(None) };
    let (width, height) = decoder.dimensions();
    count_pixels(budget, [height as usize, width as usize], if is_whole { WHOLE } else { usize::MAX })?;
    let Ok(image) = DynamicImage::from_decoder(decoder) else { return Ok(None) };
    let rgb = image.into_rgb8();
    let (height, width) = (rgb.height() as usize, rgb.width() as usize);
    Ok(Some(Picture { height, width, pixels: rgb.into_raw() }))
}

/// Counts the memory that a decoder needs for the pixels, and refuses more than `max` pixels, since decoding is a
/// single call.
fn count_pixels(budget: &Budget, [height, width]: [usize; 2], max: usize) -> Result<()> {
    let max = max.min(budget.limits().elements);
    let pixels = height.checked_mul(width).filter(|&pixels| pixels <= max);
    let pixels = pixels.ok_or_else(|| {
        KernelError::Limit(format!("an image of {height} by {width} pixels is over the limit of {max} for its format"))
    })?;
    budget.count(pixels, BYTES_OF_A_PIXEL)
}

/// Decodes a JPEG 2000 file or codestream, in gray or colour, without alpha.
fn decode_jpeg2000(budget: &Budget, encoded: &[u8]) -> Result<Option<Picture>> {
    let Ok(image) = hayro_jpeg2000::Image::new(encoded, &DecodeSettings::default()) else { return Ok(None) };
    let (height, width) = (image.height() as usize, image.width() as usize);
    count_pixels(budget, [height, width], WHOLE_JPEG2000)?;
    let mut context = DecoderContext::default();
    let Ok(decoded) = image.decode(&mut context) else { return Ok(None) };
    let (samples, channels) = (decoded.data_u8(), decoded.components().len());
    let colours = channels.saturating_sub(usize::from(image.has_alpha()));
    if colours != 1 && colours != 3 {
        return Ok(None);
    }
    let pixels: Vec<u8> = samples
        .chunks_exact(channels)
        .flat_map(|pixel| match (colours, pixel) {
            (3.., [red, green, blue, ..]) => [*red, *green, *blue],
            (_, [gray, ..]) => [*gray; 3],
            _ => [0; 3],
        })
        .collect();
    Ok(Some(Picture { height, width, pixels }))
}

/// Reverses the channels of each pixel.
fn reversed(mut pixels: Vec<u8>) -> Vec<u8> {
    let (groups, _) = pixels.as_chunks_mut::<3>();
    for pixel in groups {
        pixel.reverse();
    }
    pixels
}

/// Returns the brightness of each pixel by ITU-R BT.601, as in JPEG: 0.299 red, 0.587 green, 0.114 blue.
fn brightness(pixels: &[u8]) -> Vec<u8> {
    let (groups, _) = pixels.as_chunks::<3>();
    #[expect(clippy::cast_possible_truncation, reason = "a weighted mean of bytes, with weights that sum to 2^16")]
    let brightness = |&[red, green, blue]: &[u8; 3]| {
        ((u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471 + (1 << 15)) >> 16) as u8
    };
    groups.iter().map(brightness).collect()
}

#[cfg(test)]
mod tests {
    use crate::deadline::Deadline;
    use crate::dtype::ElementType;
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::tensor::Tensor;
    use crate::testing::{OneNode, node};

    fn decoder(bytes: &[u8]) -> OneNode {
        let encoded = Tensor::from_bytes(ElementType::Uint8, vec![bytes.len()], bytes.to_vec().into()).unwrap();
        node("ImageDecoder", 20).input(encoded)
    }

    /// A red, a green, a blue and a white pixel.
    const PPM: &[u8] = b"P6\n2 2\n255\n\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff";

    #[test]
    fn a_colour_becomes_gray_by_its_luma() {
        let image = decoder(PPM).set("pixel_format", "Grayscale").tensor();
        assert_eq!((image.shape(), &image.bytes()[..]), (&[2, 2, 1][..], &[76, 150, 29, 255][..]));
    }

    #[test]
    fn gray_and_deep_images_become_8_bit_colour() {
        let image = decoder(b"P5\n1 2\n65535\n\x80\x80\0\0").tensor();
        assert_eq!((image.shape(), &image.bytes()[..]), (&[2, 1, 3][..], &[0x80, 0x80, 0x80, 0, 0, 0][..]));
    }

    #[test]
    fn undecodable_bytes_are_an_empty_image() {
        for bytes in
            [&b""[..], b"text", &PPM[..15], b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51\0", b"\x89PNG\r\n\x1a\n"]
        {
            assert_eq!(decoder(bytes).tensor().shape(), [0, 0, 3], "{bytes:?}");
        }
        assert_eq!(decoder(b"").set("pixel_format", "Grayscale").tensor().shape(), [0, 0, 1]);
    }

    #[test]
    fn a_large_image_is_refused_before_it_is_decoded() {
        let limits = ExecutionLimits { bytes: 1 << 20, ..ExecutionLimits::default() };
        let refused = decoder(b"P6\n60000 60000\n255\n").limits(limits);
        assert!(refused.error().contains("over the limit"));
    }

    #[test]
    fn a_picture_is_decoded_until_the_deadline() {
        let mut png = std::io::Cursor::new(Vec::new());
        image::GrayImage::new(2048, 2048).write_to(&mut png, image::ImageFormat::Png).unwrap();
        let png = png.into_inner();
        assert_eq!(decoder(&png).tensor().shape(), [2048, 2048, 3]);
        // The bytes are read in parts. The deadline passes after the first few of them.
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let deadline = Deadline::new(move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 5);
        let late = decoder(&png).limits(ExecutionLimits { deadline, ..ExecutionLimits::default() });
        assert!(late.error().contains("the time limit of the run is exceeded"));
    }
}
