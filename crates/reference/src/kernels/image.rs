//! Encoded images: `ImageDecoder`.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_jpeg2000::{DecodeSettings, DecoderContext};
use image::{ImageReader, Limits};

use crate::dtype::ElementType;
use crate::kernels::call::{Call, Result};
use crate::kernels::error::{KernelError, invalid};
use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("ImageDecoder", 20, image_decoder)];

/// An image of 8-bit red, green and blue, one row after the other.
struct Picture {
    height: usize,
    width: usize,
    pixels: Vec<u8>,
}

/// The order and number of an output's channels.
#[derive(Clone, Copy)]
enum PixelFormat {
    Rgb,
    Bgr,
    Grayscale,
}

/// The image of the encoded bytes, `[height, width, channels]`; one without pixels where they cannot be decoded.
fn image_decoder(call: &Call<'_>) -> Result {
    let format = match call.string("pixel_format")? {
        "RGB" => PixelFormat::Rgb,
        "BGR" => PixelFormat::Bgr,
        "Grayscale" => PixelFormat::Grayscale,
        other => return Err(invalid(format!("pixel_format is '{other}'; it is one of RGB, BGR, Grayscale"))),
    };
    let encoded = call.tensor(0)?.bytes();
    let limits = call.budget.limits();
    let most = limits.elements.min(limits.bytes);
    // The standard asks for an empty image whatever the reason is, and a decoder's own panic is one.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(encoded, most))).unwrap_or(Decoded::Broken);
    let picture = match decoded {
        Decoded::Picture(picture) => picture,
        Decoded::Broken => Picture { height: 0, width: 0, pixels: Vec::new() },
        Decoded::TooLarge => {
            return Err(KernelError::Limit(format!("the image decodes to more than the limit of {most} bytes")));
        }
    };
    let (channels, pixels) = match format {
        PixelFormat::Rgb => (3, picture.pixels),
        PixelFormat::Bgr => (3, reversed(picture.pixels)),
        PixelFormat::Grayscale => (1, luma(&picture.pixels)),
    };
    Ok(call.allocate(ElementType::Uint8, &[picture.height, picture.width, channels])?.bytes(pixels)?.into())
}

/// What a decoder made of the bytes.
enum Decoded {
    Picture(Picture),
    /// The bytes are no image, or a broken one.
    Broken,
    /// The image is larger than the run may hold.
    TooLarge,
}

fn decode(encoded: &[u8], most: usize) -> Decoded {
    const JP2: &[u8] = b"\0\0\0\x0cjP  ";
    const CODESTREAM: &[u8] = b"\xff\x4f\xff\x51";
    if encoded.starts_with(JP2) || encoded.starts_with(CODESTREAM) {
        return decode_jpeg2000(encoded, most).unwrap_or(Decoded::Broken);
    }
    let Ok(mut reader) = ImageReader::new(Cursor::new(encoded)).with_guessed_format() else { return Decoded::Broken };
    let mut limits = Limits::default();
    limits.max_alloc = Some(most as u64);
    reader.limits(limits);
    match reader.decode() {
        Ok(image) => {
            let rgb = image.into_rgb8();
            let (height, width) = (rgb.height() as usize, rgb.width() as usize);
            Decoded::Picture(Picture { height, width, pixels: rgb.into_raw() })
        }
        Err(image::ImageError::Limits(_)) => Decoded::TooLarge,
        Err(_) => Decoded::Broken,
    }
}

/// The image of a JPEG 2000 file or codestream, in gray or colour, without its alpha.
fn decode_jpeg2000(encoded: &[u8], most: usize) -> Option<Decoded> {
    let image = hayro_jpeg2000::Image::new(encoded, &DecodeSettings::default()).ok()?;
    let (height, width) = (image.height() as usize, image.width() as usize);
    if height.checked_mul(width).and_then(|pixels| pixels.checked_mul(16)).is_none_or(|bytes| bytes > most) {
        return Some(Decoded::TooLarge);
    }
    let mut context = DecoderContext::default();
    let decoded = image.decode(&mut context).ok()?;
    let (samples, channels) = (decoded.data_u8(), decoded.components().len());
    let colours = channels.checked_sub(usize::from(image.has_alpha()))?;
    let pixels: Vec<u8> = samples
        .chunks_exact(channels)
        .flat_map(|pixel| match (colours, pixel) {
            (3.., [red, green, blue, ..]) => [*red, *green, *blue],
            (_, [gray, ..]) => [*gray; 3],
            _ => [0; 3],
        })
        .collect();
    (colours == 1 || colours == 3).then_some(Decoded::Picture(Picture { height, width, pixels }))
}

/// The channels of each pixel in the other order.
fn reversed(mut pixels: Vec<u8>) -> Vec<u8> {
    let (groups, _) = pixels.as_chunks_mut::<3>();
    for pixel in groups {
        pixel.reverse();
    }
    pixels
}

/// The brightness of each pixel after ITU-R BT.601, as JPEG has it: 0.299 red, 0.587 green, 0.114 blue.
fn luma(pixels: &[u8]) -> Vec<u8> {
    let (groups, _) = pixels.as_chunks::<3>();
    #[expect(clippy::cast_possible_truncation, reason = "a weighted mean of bytes, with weights that sum to 2^16")]
    let brightness = |&[red, green, blue]: &[u8; 3]| {
        ((u32::from(red) * 19595 + u32::from(green) * 38470 + u32::from(blue) * 7471 + (1 << 15)) >> 16) as u8
    };
    groups.iter().map(brightness).collect()
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::kernels::budget::Limits;
    use crate::tensor::Tensor;
    use crate::testing::{OneNode, node};

    fn decoder(bytes: &[u8]) -> OneNode {
        let encoded = Tensor::from_bytes(ElementType::Uint8, vec![bytes.len()], bytes.to_vec().into()).unwrap();
        node("ImageDecoder", 20).input(encoded)
    }

    /// A red, a green, a blue and a white pixel.
    const PPM: &[u8] = b"P6\n2 2\n255\n\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff";

    #[test]
    fn channels_stand_last_in_the_order_asked_for() {
        let rows: [(&str, &[usize], &[u8]); 3] = [
            ("RGB", &[2, 2, 3], &PPM[11..]),
            ("BGR", &[2, 2, 3], b"\0\0\xff\0\xff\0\xff\0\0\xff\xff\xff"),
            ("Grayscale", &[2, 2, 1], &[76, 150, 29, 255]),
        ];
        for (format, shape, pixels) in rows {
            let image = decoder(PPM).set("pixel_format", format).tensor();
            assert_eq!((image.shape(), &image.bytes()[..]), (shape, pixels), "{format}");
        }
        assert!(decoder(PPM).set("pixel_format", "CMYK").error().contains("pixel_format is 'CMYK'"));
    }

    #[test]
    fn gray_and_deep_images_become_8_bit_colour() {
        let image = decoder(b"P5\n1 2\n65535\n\x80\x80\0\0").tensor();
        assert_eq!((image.shape(), &image.bytes()[..]), (&[2, 1, 3][..], &[0x80, 0x80, 0x80, 0, 0, 0][..]));
    }

    #[test]
    fn what_cannot_be_decoded_is_an_empty_image() {
        for bytes in
            [&b""[..], b"text", &PPM[..15], b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51\0", b"\x89PNG\r\n\x1a\n"]
        {
            assert_eq!(decoder(bytes).tensor().shape(), [0, 0, 3], "{bytes:?}");
        }
        assert_eq!(decoder(b"").set("pixel_format", "Grayscale").tensor().shape(), [0, 0, 1]);
    }

    #[test]
    fn a_large_image_is_refused_before_it_is_decoded() {
        let limits = Limits { bytes: 1 << 20, ..Limits::default() };
        let refused = decoder(b"P6\n60000 60000\n255\n").limits(limits);
        assert!(refused.error().contains("more than the limit"));
    }
}
