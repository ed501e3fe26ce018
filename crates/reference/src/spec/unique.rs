//! Maps, lists and records that reject errors YAML accepts: duplicate keys and types, types out of order, contradictory
//! fields.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::types::ValueType;

/// Deserializes a map; a duplicate key is an error.
pub(super) fn unique_map<'de, V, D>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(UniqueMap(PhantomData))
}

struct UniqueMap<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueMap<V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some(key) = access.next_key_seed(UniqueKey(&map))? {
            let value = access.next_value()?;
            map.insert(key, value);
        }
        Ok(map)
    }
}

struct UniqueKey<'a, V>(&'a BTreeMap<String, V>);

impl<'de, V> DeserializeSeed<'de> for UniqueKey<'_, V> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<V> Visitor<'_> for UniqueKey<'_, V> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        if self.0.contains_key(key) { Err(E::custom(format!("'{key}' appears twice"))) } else { Ok(key.to_owned()) }
    }
}

/// Types that a type parameter allows, sorted by name, so a text diff of two versions shows exactly the change.
pub(super) struct SortedTypes(pub(super) Vec<ValueType>);

impl<'de> Deserialize<'de> for SortedTypes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TypeList)
    }
}

struct TypeList;

impl<'de> Visitor<'de> for TypeList {
    type Value = SortedTypes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of types")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<SortedTypes, A::Error> {
        let mut types = Vec::new();
        while let Some(next) = access.next_element_seed(After(types.last().map(ValueType::to_string)))? {
            types.push(next);
        }
        if types.is_empty() {
            Err(A::Error::custom("the list of types is empty; list at least one"))
        } else {
            Ok(SortedTypes(types))
        }
    }
}

/// Deserializer of a type whose name must sort after this one.
struct After(Option<String>);

impl<'de> DeserializeSeed<'de> for After {
    type Value = ValueType;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ValueType, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for After {
    type Value = ValueType;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a type such as tensor(float)")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<ValueType, E> {
        let value_type: ValueType = name.parse().map_err(E::custom)?;
        match self.0 {
            Some(before) if before.as_str() >= name => Err(E::custom(format!(
                "{name} is listed after {before}; sort the types by spelling, without duplicates"
            ))),
            _ => Ok(value_type),
        }
    }
}

/// Deserializes a record as `File`, then converts it to `T`; an error points at the record.
pub(super) fn checked<'de, File, T, D>(deserializer: D) -> Result<T, D::Error>
where
    File: DeserializeOwned,
    T: TryFrom<File, Error: fmt::Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_map(Checked(PhantomData::<(File, T)>))
}

struct Checked<File, T>(PhantomData<(File, T)>);

impl<'de, File: DeserializeOwned, T: TryFrom<File, Error: fmt::Display>> Visitor<'de> for Checked<File, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<T, A::Error> {
        T::try_from(File::deserialize(MapAccessDeserializer::new(access))?).map_err(A::Error::custom)
    }
}
