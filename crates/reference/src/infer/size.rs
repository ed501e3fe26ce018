//! Symbolic sizes: sums and products of named dimensions, and quotients, minima and maxima of these.

use std::fmt;
use std::sync::Arc;

/// Dimension of a tensor, declared or inferred.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A fixed size.
    Size(usize),
    /// A symbolic size; all dimensions of the same name have the same size.
    Name(Arc<str>),
    /// A size that follows from named ones; only inference creates it.
    Sum(Arc<Size>),
    /// Any size.
    Unknown,
}

/// Maximum number of terms of a sum, and of factors of a product. A larger size is unknown.
const MAX_TERMS: usize = 16;

/// Maximum depth of quotients, minima and maxima within each other.
const MAX_DEPTH: usize = 4;

/// Sum of products of symbols, such as `2*N*C + 1`, in a normal form: equal sums are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    /// The factors of each product, sorted, and its coefficient, which is never 0. The product without factors is the
    /// constant.
    terms: Vec<(Vec<Symbol>, i64)>,
}

/// Factor of a product.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Symbol {
    /// A named dimension.
    Name(Arc<str>),
    /// The first size by the second, rounded down.
    Quotient(Arc<(Size, Size)>),
    /// The smaller of two sizes.
    Minimum(Arc<(Size, Size)>),
    /// The larger of two sizes.
    Maximum(Arc<(Size, Size)>),
}

impl Symbol {
    fn is_never_negative(&self) -> bool {
        match self {
            Symbol::Name(_) => true,
            Symbol::Quotient(pair) | Symbol::Minimum(pair) => pair.0.is_never_negative() && pair.1.is_never_negative(),
            Symbol::Maximum(pair) => pair.0.is_never_negative() || pair.1.is_never_negative(),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Symbol::Name(_) => 0,
            Symbol::Quotient(pair) | Symbol::Minimum(pair) | Symbol::Maximum(pair) => {
                1 + pair.0.depth().max(pair.1.depth())
            }
        }
    }
}

impl Size {
    /// Returns a size without symbols.
    pub fn constant(value: i64) -> Size {
        Size { terms: if value == 0 { Vec::new() } else { vec![(Vec::new(), value)] } }
    }

    /// Returns the size of a dimension; `None` if it is unknown.
    pub fn from_dim(dim: &Dim) -> Option<Size> {
        match dim {
            Dim::Size(size) => Some(Size::constant(i64::try_from(*size).ok()?)),
            Dim::Name(name) => Some(Size::symbol(Symbol::Name(Arc::clone(name)))),
            Dim::Sum(size) => Some(Size::clone(size)),
            Dim::Unknown => None,
        }
    }

    /// Returns the dimension of this size; unknown if the size is negative.
    pub fn dim(self) -> Dim {
        match self.terms.as_slice() {
            [] => Dim::Size(0),
            [(factors, value)] => match (factors.as_slice(), value) {
                ([], value) => usize::try_from(*value).map_or(Dim::Unknown, Dim::Size),
                ([Symbol::Name(name)], 1) => Dim::Name(Arc::clone(name)),
                _ => Dim::Sum(Arc::new(self)),
            },
            _ => Dim::Sum(Arc::new(self)),
        }
    }

    /// Returns the value of a size without symbols.
    pub fn value(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(factors, value)] if factors.is_empty() => Some(*value),
            _ => None,
        }
    }

    /// True if no value of the names makes the size negative.
    pub fn is_never_negative(&self) -> bool {
        self.terms.iter().all(|(factors, value)| *value > 0 && factors.iter().all(Symbol::is_never_negative))
    }

    /// True if the size is above 0 for all values of the names.
    pub fn is_positive(&self) -> bool {
        // The product without factors is first.
        self.is_never_negative() && self.terms.first().is_some_and(|(factors, _)| factors.is_empty())
    }

    fn symbol(symbol: Symbol) -> Size {
        Size { terms: vec![(vec![symbol], 1)] }
    }

    fn depth(&self) -> usize {
        self.terms.iter().flat_map(|(factors, _)| factors).map(Symbol::depth).max().unwrap_or(0)
    }

    /// Adds equal products up and sorts them; `None` if the sum is too long.
    fn from_terms(mut terms: Vec<(Vec<Symbol>, i64)>) -> Option<Size> {
        terms.sort_unstable();
        let mut sums: Vec<(Vec<Symbol>, i64)> = Vec::new();
        for (factors, value) in terms {
            match sums.last_mut() {
                Some((last, sum)) if *last == factors => *sum = sum.checked_add(value)?,
                _ => sums.push((factors, value)),
            }
        }
        sums.retain(|(_, value)| *value != 0);
        (sums.len() <= MAX_TERMS && sums.iter().all(|(factors, _)| factors.len() <= MAX_TERMS))
            .then_some(Size { terms: sums })
    }

    /// Adds two sizes; `None` if the sum is too large to follow.
    pub fn plus(&self, other: &Size) -> Option<Size> {
        Size::from_terms([self.terms.as_slice(), other.terms.as_slice()].concat())
    }

    /// Subtracts a size.
    pub fn minus(&self, other: &Size) -> Option<Size> {
        self.plus(&other.times(&Size::constant(-1))?)
    }

    /// Multiplies two sizes.
    pub fn times(&self, other: &Size) -> Option<Size> {
        let mut terms = Vec::new();
        for (one, first) in &self.terms {
            for (two, second) in &other.terms {
                let mut factors = [one.as_slice(), two.as_slice()].concat();
                factors.sort_unstable();
                terms.push((factors, first.checked_mul(*second)?));
            }
        }
        Size::from_terms(terms)
    }

    /// Divides by a size and rounds down; `None` for a divisor of 0.
    pub fn over(&self, other: &Size) -> Option<Size> {
        if let (Some(one), Some(two)) = (self.value(), other.value()) {
            return Some(Size::constant(one.checked_div_euclid(two).filter(|_| two > 0)?));
        }
        if other.value().is_some_and(|value| value <= 0) {
            return None;
        }
        match self.exact_quotient(other) {
            Some(quotient) => Some(quotient),
            None => Size::pair(Symbol::Quotient, self, other),
        }
    }

    /// Divides by a size and rounds up.
    pub fn over_rounded_up(&self, other: &Size) -> Option<Size> {
        match self.exact_quotient(other) {
            Some(quotient) => Some(quotient),
            None => self.plus(other)?.minus(&Size::constant(1))?.over(other),
        }
    }

    /// The quotient by a size other than 0, if a single product divides every term, or if this size is a multiple of
    /// the other one.
    pub fn exact_quotient(&self, other: &Size) -> Option<Size> {
        if let Some(multiple) = self.multiple_of(other) {
            return Some(Size::constant(multiple));
        }
        let [(divisors, divisor)] = other.terms.as_slice() else { return None };
        let mut terms = Vec::new();
        for (factors, value) in &self.terms {
            if value.checked_rem(*divisor)? != 0 {
                return None;
            }
            let mut factors = factors.clone();
            for symbol in divisors {
                let at = factors.iter().position(|factor| factor == symbol)?;
                factors.remove(at);
            }
            terms.push((factors, value.checked_div(*divisor)?));
        }
        Size::from_terms(terms)
    }

    /// The integer factor between the other size and this one.
    fn multiple_of(&self, other: &Size) -> Option<i64> {
        let ((_, value), (_, divisor)) = (self.terms.first()?, other.terms.first()?);
        let multiple = value.checked_div(*divisor)?;
        (other.times(&Size::constant(multiple)).as_ref() == Some(self)).then_some(multiple)
    }

    /// Returns the smaller of two sizes.
    pub fn min(&self, other: &Size) -> Option<Size> {
        match self.minus(other)?.value() {
            Some(difference) => Some(if difference <= 0 { self.clone() } else { other.clone() }),
            None => Size::sorted_pair(Symbol::Minimum, self, other),
        }
    }

    /// Returns the larger of two sizes.
    pub fn max(&self, other: &Size) -> Option<Size> {
        match self.minus(other)?.value() {
            Some(difference) => Some(if difference >= 0 { self.clone() } else { other.clone() }),
            None => Size::sorted_pair(Symbol::Maximum, self, other),
        }
    }

    fn sorted_pair(symbol: fn(Arc<(Size, Size)>) -> Symbol, one: &Size, two: &Size) -> Option<Size> {
        if one <= two { Size::pair(symbol, one, two) } else { Size::pair(symbol, two, one) }
    }

    fn pair(symbol: fn(Arc<(Size, Size)>) -> Symbol, one: &Size, two: &Size) -> Option<Size> {
        let symbol = symbol(Arc::new((one.clone(), two.clone())));
        (symbol.depth() <= MAX_DEPTH).then(|| Size::symbol(symbol))
    }

    /// Returns the value for known values of the names; `None` if one is missing, or if the size is out of range.
    pub fn evaluate(&self, values: &dyn Fn(&str) -> Option<usize>) -> Option<i64> {
        i64::try_from(self.evaluate_wide(values)?).ok()
    }

    fn evaluate_wide(&self, values: &dyn Fn(&str) -> Option<usize>) -> Option<i128> {
        let mut sum = 0i128;
        for (factors, value) in &self.terms {
            let mut product = i128::from(*value);
            for symbol in factors {
                let both = |pair: &(Size, Size)| Some((pair.0.evaluate_wide(values)?, pair.1.evaluate_wide(values)?));
                let factor = match symbol {
                    Symbol::Name(name) => i128::try_from(values(name)?).ok()?,
                    Symbol::Quotient(pair) => both(pair).and_then(|(one, two)| one.checked_div_euclid(two))?,
                    Symbol::Minimum(pair) => both(pair).map(|(one, two)| one.min(two))?,
                    Symbol::Maximum(pair) => both(pair).map(|(one, two)| one.max(two))?,
                };
                product = product.checked_mul(factor)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        // The constant is last in writing and first in the order of terms.
        let (constants, products) = self.terms.split_at(self.terms.iter().take_while(|(it, _)| it.is_empty()).count());
        for (position, (factors, value)) in products.iter().chain(constants).enumerate() {
            match (position, *value < 0) {
                (0, false) => {}
                (0, true) => f.write_str("-")?,
                (_, false) => f.write_str(" + ")?,
                (_, true) => f.write_str(" - ")?,
            }
            let magnitude = value.unsigned_abs();
            if magnitude != 1 || factors.is_empty() {
                write!(f, "{magnitude}")?;
            }
            for (index, factor) in factors.iter().enumerate() {
                f.write_str(if index > 0 || magnitude != 1 { "*" } else { "" })?;
                write!(f, "{factor}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Symbol::Name(name) => f.write_str(name),
            Symbol::Quotient(pair) => write!(f, "floor(({})/({}))", pair.0, pair.1),
            Symbol::Minimum(pair) => write!(f, "min({}, {})", pair.0, pair.1),
            Symbol::Maximum(pair) => write!(f, "max({}, {})", pair.0, pair.1),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Size(size) => write!(f, "{size}"),
            Dim::Name(name) => f.write_str(name),
            Dim::Sum(size) => write!(f, "{size}"),
            Dim::Unknown => f.write_str("?"),
        }
    }
}

/// Arithmetic of dimensions: the result is unknown if an operand is, or if it is too large to follow.
impl Dim {
    fn combine(&self, other: &Dim, operation: impl Fn(&Size, &Size) -> Option<Size>) -> Dim {
        let size = || operation(&Size::from_dim(self)?, &Size::from_dim(other)?);
        size().map_or(Dim::Unknown, Size::dim)
    }

    /// Returns the dimension of an `int64`; unknown if it is negative.
    pub fn from_int(value: i64) -> Dim {
        usize::try_from(value).map_or(Dim::Unknown, Dim::Size)
    }

    /// Adds two dimensions.
    #[must_use]
    pub fn plus(&self, other: &Dim) -> Dim {
        self.combine(other, Size::plus)
    }

    /// Adds an integer, which may be negative.
    #[must_use]
    pub fn plus_int(&self, value: i64) -> Dim {
        let size = || Size::from_dim(self)?.plus(&Size::constant(value));
        size().map_or(Dim::Unknown, Size::dim)
    }

    /// Subtracts a dimension.
    #[must_use]
    pub fn minus(&self, other: &Dim) -> Dim {
        self.combine(other, Size::minus)
    }

    /// Multiplies two dimensions. A factor of 0 gives 0 with any other factor.
    #[must_use]
    pub fn times(&self, other: &Dim) -> Dim {
        if *self == Dim::Size(0) || *other == Dim::Size(0) {
            return Dim::Size(0);
        }
        self.combine(other, Size::times)
    }

    /// Divides by a dimension and rounds down.
    #[must_use]
    pub fn over(&self, other: &Dim) -> Dim {
        self.combine(other, Size::over)
    }

    /// Divides by a dimension and rounds up.
    #[must_use]
    pub fn over_rounded_up(&self, other: &Dim) -> Dim {
        self.combine(other, Size::over_rounded_up)
    }

    /// Returns the smaller of two dimensions.
    #[must_use]
    pub fn min(&self, other: &Dim) -> Dim {
        self.combine(other, Size::min)
    }

    /// Returns the larger of two dimensions.
    #[must_use]
    pub fn max(&self, other: &Dim) -> Dim {
        self.combine(other, Size::max)
    }

    /// Returns the size if it is a number.
    pub fn size(&self) -> Option<usize> {
        if let Dim::Size(size) = self { Some(*size) } else { None }
    }

    /// Combines two facts about the same dimension: a number is preferred to a name, and a name to an unknown size.
    #[must_use]
    pub fn or(self, other: &Dim) -> Dim {
        match (&self, other) {
            (Dim::Unknown, other) | (_, other @ Dim::Size(_)) if self.size().is_none() => other.clone(),
            _ => self,
        }
    }

    /// Returns the product of dimensions.
    pub fn product<'d>(dims: impl IntoIterator<Item = &'d Dim>) -> Dim {
        dims.into_iter().fold(Dim::Size(1), |product, dim| product.times(dim))
    }

    /// Returns the sum of dimensions.
    pub fn sum<'d>(dims: impl IntoIterator<Item = &'d Dim>) -> Dim {
        dims.into_iter().fold(Dim::Size(0), |sum, dim| sum.plus(dim))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Dim {
        Dim::Name(name.into())
    }

    #[test]
    fn equal_sums_are_equal_values() {
        let (n, c) = (name("N"), name("C"));
        assert_eq!(n.plus(&c).minus(&n), c);
        assert_eq!(n.times(&c), c.times(&n));
        assert_eq!(n.plus_int(2).plus_int(-2), n);
        assert_eq!(n.minus(&n), Dim::Size(0));
        assert_eq!(n.times(&Dim::Size(6)).over(&Dim::Size(3)), n.times(&Dim::Size(2)));
        assert_eq!(n.times(&c).over(&c), n);
        assert_eq!(n.plus_int(1).times(&Dim::Size(8)).over(&n.plus_int(1)), Dim::Size(8));
        assert_eq!(n.plus_int(1).over(&n.plus_int(1)), Dim::Size(1));
        assert_eq!(Dim::Unknown.times(&Dim::Size(0)), Dim::Size(0));
        assert_eq!(Dim::Unknown.plus(&n), Dim::Unknown);
        assert_eq!(n.min(&n.plus_int(1)), n);
        assert_eq!(n.max(&n.plus_int(1)), n.plus_int(1));
    }

    #[test]
    fn sizes_are_written_as_formulas() {
        let n = name("N");
        let odd = n.times(&Dim::Size(2)).plus_int(1);
        assert_eq!(odd.to_string(), "2*N + 1");
        assert_eq!(odd.over(&Dim::Size(2)).to_string(), "floor((2*N + 1)/(2))");
        assert_eq!(n.plus_int(-3).to_string(), "N - 3");
        assert_eq!(n.min(&Dim::Size(5)).to_string(), "min(5, N)");
        assert_eq!(n.times(&name("C")).to_string(), "C*N");
        assert_eq!(Dim::Unknown.to_string(), "?");
    }

    #[test]
    fn formulas_have_the_value_of_the_computation() {
        for value in 0..40usize {
            let n = name("N");
            let of = |dim: &Dim| match dim {
                Dim::Size(size) => i64::try_from(*size).unwrap(),
                other => Size::from_dim(other).unwrap().evaluate(&|_| Some(value)).unwrap(),
            };
            let signed = i64::try_from(value).unwrap();
            assert_eq!(of(&n.plus_int(5).over(&Dim::Size(3)).plus_int(1)), (signed + 5) / 3 + 1);
            assert_eq!(of(&n.over_rounded_up(&Dim::Size(4))), (signed + 3) / 4);
            assert_eq!(of(&n.times(&n).min(&Dim::Size(100))), (signed * signed).min(100));
            assert_eq!(of(&n.max(&Dim::Size(7)).times(&n)), signed.max(7) * signed);
        }
    }

    #[test]
    fn sizes_that_are_too_large_are_unknown() {
        let mut sum = Dim::Size(0);
        for index in 0..40 {
            sum = sum.plus(&name(&format!("d{index}")));
        }
        assert_eq!(sum, Dim::Unknown);
        let nested = (0..10).fold(name("N"), |size, _| size.plus_int(1).over(&Dim::Size(2)));
        assert_eq!(nested, Dim::Unknown);
        assert_eq!(Dim::Size(usize::MAX).times(&name("N")), Dim::Unknown);
        assert_eq!(Dim::Size(3).over(&Dim::Size(0)), Dim::Unknown);
    }
}
