// jest's own module loader cannot require() an ES module below Node 24.9, and Nest is published as ES modules:
// those packages alone are brought down to CommonJS for tests. Node itself loads them unchanged.
const crypto = require('node:crypto');
const ts = require('typescript');

const VERSION = '1';

module.exports = {
  getCacheKey: (source, file) =>
    crypto.createHash('sha1').update(`${VERSION}\0${ts.version}\0${file}\0${source}`).digest('hex'),
  process(source, file) {
    const renamed = /^(const|let|var) require\b/m.test(source)
      ? source.replace(/\brequire\b/g, 'esmRequire')
      : source;
    const { outputText } = ts.transpileModule(renamed.replaceAll('import.meta.url', '__moduleUrl'), {
      fileName: file,
      compilerOptions: {
        module: ts.ModuleKind.CommonJS,
        target: ts.ScriptTarget.ES2023,
        esModuleInterop: true,
        allowJs: true,
      },
    });
    return {
      code: `const __moduleUrl = require('node:url').pathToFileURL(__filename).href;${outputText}`,
    };
  },
};
