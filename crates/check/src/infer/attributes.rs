//! The attributes of a node, with those that a function passes on.

use std::collections::HashMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, TensorProto, TypeProto};

/// The attributes that a function was called with, by name.
pub(crate) type CallAttributes<'m> = HashMap<&'m str, &'m AttributeProto>;

/// The attributes of a node.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a, 'm> {
    node: &'m NodeProto,
    /// Nothing outside of functions, and in a function of which no call is known.
    call: Option<&'a CallAttributes<'m>>,
}

impl<'a, 'm> Attributes<'a, 'm> {
    pub(crate) fn new(node: &'m NodeProto, call: Option<&'a CallAttributes<'m>>) -> Attributes<'a, 'm> {
        Attributes { node, call }
    }

    /// Every attribute that has a value, by its name.
    pub(crate) fn all(self) -> impl Iterator<Item = (&'m str, &'m AttributeProto)> + use<'a, 'm> {
        self.node.attribute.iter().filter_map(move |attribute| Some((attribute.name(), self.resolve(attribute)?)))
    }

    /// The value of an attribute; nothing where it is left out, or refers to one that is not known.
    pub(crate) fn get(self, name: &str) -> Option<&'m AttributeProto> {
        self.resolve(self.node.attribute.iter().find(|attribute| attribute.name() == name)?)
    }

    /// Whether the node sets an attribute of which only the caller's name is known.
    pub(crate) fn is_open(self, name: &str) -> bool {
        let found = self.node.attribute.iter().find(|attribute| attribute.name() == name);
        found.is_some_and(|attribute| !attribute.ref_attr_name().is_empty() && self.call.is_none())
    }

    /// Whether the node refers to any attribute of the caller's that is not known.
    pub(crate) fn any_open(self) -> bool {
        self.call.is_none() && self.node.attribute.iter().any(|attribute| !attribute.ref_attr_name().is_empty())
    }

    fn resolve(self, attribute: &'m AttributeProto) -> Option<&'m AttributeProto> {
        match attribute.ref_attr_name() {
            "" => Some(attribute),
            name => self.call?.get(name).copied(),
        }
    }

    pub(crate) fn int(self, name: &str) -> Option<i64> {
        self.get(name)?.i
    }

    pub(crate) fn ints(self, name: &str) -> Option<&'m [i64]> {
        self.get(name).map(|attribute| attribute.ints.as_slice())
    }

    pub(crate) fn text(self, name: &str) -> Option<&'m str> {
        std::str::from_utf8(self.get(name)?.s.as_ref()?).ok()
    }

    pub(crate) fn tensor(self, name: &str) -> Option<&'m TensorProto> {
        self.get(name)?.t.as_ref()
    }

    pub(crate) fn type_proto(self, name: &str) -> Option<&'m TypeProto> {
        self.get(name)?.tp.as_ref()
    }

    /// The element type that an attribute names by its number.
    pub(crate) fn element(self, name: &str) -> Option<ElementType> {
        ElementType::from_code(i32::try_from(self.int(name)?).ok()?)
    }

    /// Whether the attribute is set.
    pub(crate) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// How many graphs an attribute holds.
pub(crate) fn graphs_of(attribute: &AttributeProto) -> usize {
    usize::from(attribute.g.is_some()) + attribute.graphs.len()
}
