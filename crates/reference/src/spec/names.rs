//! Serialization of types by their ONNX names, checked while a file is read, so that an error has a position.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::ValueType;

/// Reads a value by its name. A wrong name is reported at its position.
pub(super) fn by_name<'de, T, D>(deserializer: D, expecting: &'static str) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(ByName { expecting, result: PhantomData })
}

struct ByName<T> {
    expecting: &'static str,
    result: PhantomData<T>,
}

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for ByName<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        name.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for ValueType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_name(deserializer, "a type such as tensor(float)")
    }
}

impl Serialize for ValueType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ValueType {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ValueType".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let elements = crate::dtype::ElementType::ALL.map(crate::dtype::ElementType::name).join("|");
        let innermost = format!(r"(sparse_)?tensor\(({elements})\)|map\((u?int(8|16|32|64)|string), ({elements})\)");
        schemars::json_schema!({
            "description": "The type of a value, spelt as in ONNX's operator schemas.",
            "type": "string",
            "pattern": format!(r"^((optional|seq)\()*({innermost})\)*$"),
        })
    }
}
