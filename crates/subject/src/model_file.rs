//! File of the model of a request, for runtimes that load models only from files.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf, absolute};

use crate::Request;
use crate::files::read_file;
use crate::run_folder::RunFolder;
use crate::shared_data::SharedData;

/// Name of a new file.
const NAME: &str = "model.onnx";

/// File of the model of a request, beside its external data. A file that was created for it is removed when the value is dropped.
pub struct ModelFile {
    path: PathBuf,
    #[expect(dead_code, reason = "it is removed when it is dropped")]
    created: Created,
}

/// Folder that was created for a file.
#[expect(dead_code, reason = "it is removed when it is dropped")]
enum Created {
    /// The file was there before.
    Nothing,
    /// Folder of the file alone.
    Folder(RunFolder),
    /// Copy of the external data with the file.
    Data(Box<SharedData>),
}

impl ModelFile {
    /// Returns the absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for ModelFile {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Request<'_> {
    /// Returns the model as a file, for a runtime that loads models only from files. External data is in the folder of the file. The
    /// file exists as long as the returned value; in an adapter, files of external data exist as long as the request.
    ///
    /// If the model has external data but no file yet, for example because it was changed in this process, its data is
    /// copied.
    ///
    /// ```
    /// use onnx_conformance_subject::{Declaration, Request, Response, Runtime};
    /// # mod engine {
    /// #     pub fn load(path: &std::path::Path) -> std::io::Result<Vec<u8>> { std::fs::read(path) }
    /// # }
    ///
    /// struct FromFiles;
    ///
    /// impl Runtime for FromFiles {
    ///     fn declaration(&self) -> Declaration {
    ///         Declaration::named("from-files", "0.1.0")
    ///     }
    ///
    ///     fn run(&self, request: &Request<'_>) -> Response {
    ///         let file = match request.model_file() {
    ///             Ok(file) => file,
    ///             Err(error) => return Response::load_error(error.to_string()),
    ///         };
    ///         match engine::load(file.path()) {
    ///             Ok(model) => Response::run_error(format!("a model of {} bytes, but no kernel", model.len())),
    ///             Err(error) => Response::load_error(error.to_string()),
    ///         }
    ///     }
    /// }
    ///
    /// # use onnx_conformance_subject::Ask;
    /// let model = vec![8_u8, 7].into();
    /// let answer = FromFiles.run(&Request::asking("case", &model, None, Ask::RUN));
    /// assert!(matches!(answer, Response::Error { message, .. } if message.starts_with("a model of 2 bytes")));
    /// ```
    pub fn model_file(&self) -> io::Result<ModelFile> {
        let Some(folder) = self.folder else {
            let folder = RunFolder::new_in(&std::env::temp_dir())?;
            let path = absolute(folder.path().join(NAME))?;
            File::create_new(&path)?.write_all(self.model)?;
            return Ok(ModelFile { path, created: Created::Folder(folder) });
        };
        if let Some(path) = find(folder, self.model)? {
            return Ok(ModelFile { path: absolute(path)?, created: Created::Nothing });
        }
        let data = SharedData::copy(folder)?;
        let path = absolute(data.write_model(NAME, self.model)?)?;
        Ok(ModelFile { path, created: Created::Data(Box::new(data)) })
    }
}

/// Returns the model file in a folder with exactly this content.
fn find(folder: &Path, model: &[u8]) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_model = path.extension().is_some_and(|end| end == "onnx");
        if is_model && read_file(&path, model.len() as u64).is_ok_and(|bytes| bytes == model) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Ask;

    #[test]
    fn a_model_without_data_has_a_file_until_it_is_dropped() {
        let model = Bytes::from_static(b"model");
        let request = Request::asking("case", &model, None, Ask::RUN);
        let (first, second) = (request.model_file().unwrap(), request.model_file().unwrap());
        let paths = [first.path().to_owned(), second.path().to_owned()];
        assert!(paths[0] != paths[1] && paths.iter().all(|path| path.is_absolute()));
        assert!(paths.iter().all(|path| fs::read(path).unwrap() == b"model"));
        drop((first, second));
        assert!(!paths.iter().any(|path| path.parent().unwrap().exists()));
    }

    #[test]
    fn a_model_with_data_is_beside_its_data() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("weights")).unwrap();
        fs::write(home.path().join("weights/w.bin"), b"data").unwrap();
        fs::write(home.path().join("7.onnx"), b"model").unwrap();
        fs::write(home.path().join("model.onnx"), b"other").unwrap();
        let check = |bytes: &'static [u8], is_here: bool| {
            let model = Bytes::from_static(bytes);
            let file = Request::asking("case", &model, Some(home.path()), Ask::RUN).model_file().unwrap();
            assert_eq!(fs::read(&file).unwrap(), bytes);
            assert_eq!(fs::read(file.path().with_file_name("weights").join("w.bin")).unwrap(), b"data");
            assert_eq!(file.path().starts_with(home.path()), is_here);
            let path = file.path().to_owned();
            drop(file);
            assert_eq!(path.exists(), is_here);
        };
        check(b"model", true);
        check(b"other", true);
        check(b"a part", false);
        let missing = home.path().join("missing");
        let model = Bytes::from_static(b"model");
        assert!(Request::asking("case", &model, Some(&missing), Ask::RUN).model_file().is_err());
    }
}
