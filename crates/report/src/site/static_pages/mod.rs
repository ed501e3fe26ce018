//! Pages that read without JavaScript: one per operator, runtime, finding, rule of `check` and release, with lists of each.
//!
//! `html` and `page` are the only files that write markup. `address` relates the path of a page to its address in the other part of the
//! site, and `page` is the frame that all pages share.

mod address;
mod base_url;
mod entry;
mod error;
mod finding_page;
mod html;
mod lists;
mod mark;
mod operator_page;
mod page;
mod pages;
mod picture;
mod release_page;
mod rule_page;
mod runtime_page;
mod sitemap;

pub use base_url::{BaseUrl, BaseUrlError};
pub(crate) use entry::OperatorEntry;
pub use error::StaticError;
pub(crate) use operator_page::OperatorSources;
pub(crate) use page::{PICTURE, Page, front_head};
pub(crate) use pages::{Sources, pages};
pub(crate) use picture::picture;
pub(crate) use release_page::release_names;
pub(crate) use sitemap::sitemap;
