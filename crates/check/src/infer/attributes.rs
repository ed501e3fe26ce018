//! Attributes of a node, including those passed by a function call.

use std::collections::HashMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, TensorProto, TypeProto};

/// Attributes of a function call, by name.
pub(crate) type CallAttributes<'m> = HashMap<&'m str, &'m AttributeProto>;

/// The attributes of a node.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a, 'm> {
    node: &'m NodeProto,
    /// `None` outside of functions, and in a function with no known call.
    call: Option<&'a CallAttributes<'m>>,
}

impl<'a, 'm> Attributes<'a, 'm> {
    pub(crate) fn new(node: &'m NodeProto, call: Option<&'a CallAttributes<'m>>) -> Attributes<'a, 'm> {
        Attributes { node, call }
    }

    /// All attributes that have a value, by name.
    pub(crate) fn all(self) -> impl Iterator<Item = (&'m str, &'m AttributeProto)> + use<'a, 'm> {
        self.node.attribute.iter().filter_map(move |attribute| Some((attribute.name(), self.resolve(attribute)?)))
    }

    /// The value of an attribute; `None` if it is omitted or refers to an unknown one.
    pub(crate) fn get(self, name: &str) -> Option<&'m AttributeProto> {
        self.resolve(self.node.attribute.iter().find(|attribute| attribute.name() == name)?)
    }

    /// True if the node sets an attribute by a reference to the caller that is unknown.
    pub(crate) fn is_open(self, name: &str) -> bool {
        let found = self.node.attribute.iter().find(|attribute| attribute.name() == name);
        found.is_some_and(|attribute| !attribute.ref_attr_name().is_empty() && self.call.is_none())
    }

    /// True if the node has any reference to an unknown attribute of the caller.
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

    /// The element type whose number the attribute holds.
    pub(crate) fn element(self, name: &str) -> Option<ElementType> {
        ElementType::from_code(i32::try_from(self.int(name)?).ok()?)
    }

    /// True if the attribute is set.
    pub(crate) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// The number of graphs in an attribute.
pub(crate) fn graphs_of(attribute: &AttributeProto) -> usize {
    usize::from(attribute.g.is_some()) + attribute.graphs.len()
}
