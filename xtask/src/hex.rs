//! Bytes as hexadecimal digits.

use anyhow::{Context as _, Result};

/// Reads bytes from their digits.
pub(crate) fn bytes(digits: &str) -> Result<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.map(|pair| u8::from_str_radix(pair, 16).with_context(|| format!("'{pair}' is not a byte"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back() {
        assert_eq!(bytes("000aff").unwrap(), [0, 10, 255]);
        assert!(bytes("zz").is_err() && bytes("é").is_err());
    }
}
