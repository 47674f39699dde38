// Builds clients/typescript/dist: checks the types, writes the client as ESM and as CommonJS, each with its declarations, and
// packs it for npm. The same sources give the same bytes.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import ts from 'typescript';
import { beginClient, finishClient } from './lib/build-state.mjs';
import { ROOT } from './lib/project.mjs';

const CLIENT = path.join(ROOT, 'clients/typescript');
const SOURCES = path.join(CLIENT, 'src');
const DIST = path.join(CLIENT, 'dist');
const ESM = path.join(DIST, 'esm');
const CJS = path.join(DIST, 'cjs');
/** The command line tool is a program, so one format is enough. */
const ESM_ONLY = `cli${path.sep}`;

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** Checks the types and writes both formats. Returns what is wrong with the sources. */
function compile() {
  const { config } = ts.readConfigFile(path.join(CLIENT, 'tsconfig.json'), (file) =>
    readFileSync(file, 'utf8'),
  );
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, CLIENT);
  const program = ts.createProgram(parsed.fileNames, parsed.options);
  const found = [...parsed.errors, ...ts.getPreEmitDiagnostics(program)];
  if (found.length > 0) return found;
  const declarations = new Map();
  const { diagnostics } = program.emit(
    undefined,
    (file, text) => declarations.set(path.relative(ESM, file), text),
    undefined,
    true,
  );
  writeDeclarations(declarations);
  for (const file of filesBelow(SOURCES).filter((each) => /(?<!\.d)\.ts$/.test(each))) {
    for (const [folder, module] of formatsOf(file))
      write(path.join(folder, file.replace(/\.ts$/, '.js')), toJavaScript(file, module));
  }
  write(path.join(CJS, 'package.json'), '{ "type": "commonjs" }\n');
  return diagnostics;
}

/** Writes the declarations that users can reach, the same for both formats, because they name the same files. */
function writeDeclarations(declarations) {
  const { exports } = JSON.parse(readFileSync(path.join(CLIENT, 'package.json'), 'utf8'));
  const entries = Object.values(exports).flatMap((entry) => entry.import ?? []);
  const reached = new Set(entries.map((entry) => path.relative('dist/esm', entry).replace(/\.js$/, '.d.ts')));
  for (const file of reached) {
    const text = declarations.get(file);
    for (const [, target] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g))
      reached.add(`${path.join(path.dirname(file), target)}.d.ts`);
    for (const [folder] of formatsOf(file)) write(path.join(folder, file), text);
  }
}

/** Returns the folders that a file belongs to, with the module format of each. */
function formatsOf(file) {
  const esm = [ESM, ts.ModuleKind.ESNext];
  return file.startsWith(ESM_ONLY) ? [esm] : [esm, [CJS, ts.ModuleKind.CommonJS]];
}

/** Compiles a source without its comments, which the declarations have. */
function toJavaScript(file, module) {
  const compilerOptions = { module, target: ts.ScriptTarget.ES2022, removeComments: true };
  return ts.transpileModule(readFileSync(path.join(SOURCES, file), 'utf8'), { compilerOptions }).outputText;
}

function write(file, text) {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Adds the declarations that are sources. They are large, so dist/cjs only refers to them. */
function addDeclarations() {
  for (const file of filesBelow(SOURCES).filter((each) => each.endsWith('.d.cts'))) {
    cpSync(path.join(SOURCES, file), path.join(ESM, file));
    const name = file.replace(/\.d\.cts$/, '.cjs').replaceAll(path.sep, '/');
    write(
      path.join(CJS, file),
      `export type * from '${'../'.repeat(file.split(path.sep).length)}esm/${name}';\n`,
    );
  }
}

/** Writes the package as a tar archive with gzip, with the files that `npm pack` takes. */
function pack() {
  const { files } = JSON.parse(readFileSync(path.join(CLIENT, 'package.json'), 'utf8'));
  const listed = files.flatMap((name) => {
    const file = path.join(CLIENT, name);
    return statSync(file).isFile() ? [name] : filesBelow(file).map((each) => path.join(name, each));
  });
  // gzip only finds what is near: both formats of a file side by side, code and declarations apart
  const placeOf = (file) => path.extname(file) + file.replace(/^dist.(esm|cjs)/, '');
  const byPlace = (a, b) => (placeOf(a) < placeOf(b) ? -1 : 1);
  const entries = ['package.json', 'README.md', ...listed.sort(byPlace)].map((name) => {
    const bytes = readFileSync(path.join(CLIENT, name));
    const padding = Buffer.alloc(-bytes.length & 511);
    return Buffer.concat([
      tarHeader(`package/${name.replaceAll(path.sep, '/')}`, bytes.length),
      bytes,
      padding,
    ]);
  });
  const archive = Buffer.concat([...entries, Buffer.alloc(1024)]);
  writeFileSync(path.join(DIST, 'agent-registry.tgz'), gzipSync(archive, { level: 9 }));
}

/** Returns the header of a file in a tar archive (POSIX ustar): root's, of the date that npm uses. */
function tarHeader(name, size) {
  const header = Buffer.alloc(512);
  const octal = (value, length) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  const mode = name.endsWith('cli/main.js') ? 0o755 : 0o644;
  const date = Date.UTC(1985, 9, 26, 8, 15) / 1000;
  header.write(name, 0);
  header.write(octal(mode, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(date, 12), 100);
  header.write('        0', 148); // the checksum is computed with spaces in its place; then the type: a file
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function build() {
  beginClient();
  rmSync(DIST, { recursive: true, force: true });
  const found = compile();
  if (found.length > 0) {
    console.error(
      ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(found), {
        getCurrentDirectory: () => process.cwd(),
        getCanonicalFileName: (file) => file,
        getNewLine: () => '\n',
      }),
    );
    return false;
  }
  addDeclarations();
  cpSync(path.join(ROOT, 'LICENSE'), path.join(DIST, 'LICENSE'));
  pack();
  finishClient();
  return true;
}

process.exitCode = build() ? 0 : 1;
