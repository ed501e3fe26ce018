//! Attributes of a node, including those passed by a function call.

use std::collections::HashMap;

use crate::dtype::ElementType;
use crate::proto::{AttributeProto, NodeProto, TensorProto, TypeProto};

/// Attributes of a function call, by name.
pub type CallAttributes<'m> = HashMap<&'m str, &'m AttributeProto>;

/// The attributes of a node.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a, 'm> {
    node: &'m NodeProto,
    /// `None` outside of functions, and in a function with no known call.
    call: Option<&'a CallAttributes<'m>>,
}

impl<'a, 'm> Attributes<'a, 'm> {
    /// The attributes of a node, which may refer to those of a call.
    pub fn new(node: &'m NodeProto, call: Option<&'a CallAttributes<'m>>) -> Attributes<'a, 'm> {
        Attributes { node, call }
    }

    /// All attributes that have a value, by name.
    pub fn all(self) -> impl Iterator<Item = (&'m str, &'m AttributeProto)> + use<'a, 'm> {
        self.node.attribute.iter().filter_map(move |attribute| Some((attribute.name(), self.resolve(attribute)?)))
    }

    /// The value of an attribute; `None` if it is omitted or refers to an unknown one.
    pub fn get(self, name: &str) -> Option<&'m AttributeProto> {
        self.resolve(self.node.attribute.iter().find(|attribute| attribute.name() == name)?)
    }

    /// True if the node sets an attribute by a reference to the caller that is unknown.
    pub fn is_open(self, name: &str) -> bool {
        let found = self.node.attribute.iter().find(|attribute| attribute.name() == name);
        found.is_some_and(|attribute| !attribute.ref_attr_name().is_empty() && self.call.is_none())
    }

    /// True if the node has any reference to an unknown attribute of the caller.
    pub fn any_open(self) -> bool {
        self.call.is_none() && self.node.attribute.iter().any(|attribute| !attribute.ref_attr_name().is_empty())
    }

    fn resolve(self, attribute: &'m AttributeProto) -> Option<&'m AttributeProto> {
        match attribute.ref_attr_name() {
            "" => Some(attribute),
            name => self.call?.get(name).copied(),
        }
    }

    /// The value of an integer attribute.
    pub fn int(self, name: &str) -> Option<i64> {
        self.get(name)?.i
    }

    /// The values of a list of integers.
    pub fn ints(self, name: &str) -> Option<&'m [i64]> {
        self.get(name).map(|attribute| attribute.ints.as_slice())
    }

    /// The value of a string attribute, if it is UTF-8.
    pub fn text(self, name: &str) -> Option<&'m str> {
        std::str::from_utf8(self.get(name)?.s.as_ref()?).ok()
    }

    /// The tensor of an attribute.
    pub fn tensor(self, name: &str) -> Option<&'m TensorProto> {
        self.get(name)?.t.as_deref()
    }

    /// The type of an attribute.
    pub fn type_proto(self, name: &str) -> Option<&'m TypeProto> {
        self.get(name)?.tp.as_deref()
    }

    /// The element type whose number the attribute holds.
    pub fn element(self, name: &str) -> Option<ElementType> {
        ElementType::from_code(i32::try_from(self.int(name)?).ok()?)
    }

    /// True if the attribute is set.
    pub fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// The number of graphs in an attribute.
pub fn graphs_of(attribute: &AttributeProto) -> usize {
    usize::from(attribute.g.is_some()) + attribute.graphs.len()
}
