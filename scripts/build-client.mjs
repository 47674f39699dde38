// Builds clients/typescript/dist: checks the types, writes the client as ESM and as CommonJS, each with its declarations, and
// packs it for npm. The same sources give the same bytes.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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
const PACKAGE = JSON.parse(readFileSync(path.join(CLIENT, 'package.json'), 'utf8'));
/** The command line tool is a program, so one format is enough. */
const ESM_ONLY = `cli${path.sep}`;

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** Writes dist/esm. Returns what is wrong with the sources. */
function compile() {
  const { config } = ts.readConfigFile(path.join(CLIENT, 'tsconfig.json'), (file) =>
    readFileSync(file, 'utf8'),
  );
  const parsed = ts.parseJsonConfigFileContent(config, ts.sys, CLIENT);
  const program = ts.createProgram(parsed.fileNames, parsed.options);
  const found = [...parsed.errors, ...ts.getPreEmitDiagnostics(program)];
  return found.length > 0 ? found : program.emit().diagnostics;
}

/**
 * Removes the declarations that no entry point of the package needs, and what comments are left in the code, because users
 * read those of the declarations. Then writes dist/cjs, whose declarations are those of dist/esm: they name the same files.
 */
function writeFormats() {
  const needed = new Set();
  for (const { import: entry } of Object.values(PACKAGE.exports))
    if (entry) addDeclaration(entry.replace('./dist/esm/', '').replace(/\.js$/, '.d.ts'), needed);
  for (const file of filesBelow(ESM)) {
    const text = readFileSync(path.join(ESM, file), 'utf8');
    if (file.endsWith('.d.ts')) {
      if (needed.has(file)) write(CJS, file, text);
      else rmSync(path.join(ESM, file));
      continue;
    }
    write(ESM, file, transpile(text, ts.ModuleKind.ES2022));
    if (!file.startsWith(ESM_ONLY)) write(CJS, file, transpile(text, ts.ModuleKind.CommonJS));
  }
  write(CJS, 'package.json', '{ "type": "commonjs" }\n');
}

/** Adds a declaration file and those that it imports. */
function addDeclaration(file, needed) {
  if (needed.has(file) || !existsSync(path.join(ESM, file))) return;
  needed.add(file);
  for (const [, name] of readFileSync(path.join(ESM, file), 'utf8').matchAll(
    /['"](\.{1,2}\/[^'"]+)\.js['"]/g,
  ))
    addDeclaration(`${path.join(path.dirname(file), name)}.d.ts`, needed);
}

const transpile = (text, module) =>
  ts.transpileModule(text, {
    compilerOptions: { module, target: ts.ScriptTarget.ES2022, removeComments: true },
  }).outputText;

function write(folder, file, text) {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(path.join(folder, file), text);
}

/** Adds the declarations that are sources. They are large, so dist/cjs only refers to them. */
function addDeclarations() {
  for (const file of filesBelow(SOURCES).filter((each) => each.endsWith('.d.cts'))) {
    cpSync(path.join(SOURCES, file), path.join(ESM, file));
    const name = file.replace(/\.d\.cts$/, '.cjs').replaceAll(path.sep, '/');
    write(CJS, file, `export type * from '${'../'.repeat(file.split(path.sep).length)}esm/${name}';\n`);
  }
}

/** Writes the package as a tar archive with gzip, with the files that `npm pack` takes. */
function pack() {
  const listed = PACKAGE.files.flatMap((name) => {
    const file = path.join(CLIENT, name);
    return statSync(file).isFile() ? [name] : filesBelow(file).map((each) => path.join(name, each));
  });
  // gzip finds only what is near, so the files of both formats are side by side, and those of a kind together
  const key = (name) => `${/[^.]*$/.exec(name)[0]} ${name.replace(/dist\/(?:esm|cjs)\//, '')} ${name}`;
  const byKind = (a, b) => (key(a) < key(b) ? -1 : 1);
  const entries = ['package.json', 'README.md', ...listed.sort(byKind)].map((name) => {
    const bytes = readFileSync(path.join(CLIENT, name));
    const padding = Buffer.alloc(-bytes.length & 511);
    return Buffer.concat([
      tarHeader(`package/${name.replaceAll(path.sep, '/')}`, bytes.length),
      bytes,
      padding,
    ]);
  });
  const archive = Buffer.concat([...entries, Buffer.alloc(1024)]);
  writeFileSync(path.join(DIST, 'agent-registry.tgz'), gzipSync(archive, { level: 9, memLevel: 9 }));
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
  writeFormats();
  addDeclarations();
  cpSync(path.join(ROOT, 'LICENSE'), path.join(DIST, 'LICENSE'));
  pack();
  finishClient();
  return true;
}

process.exitCode = build() ? 0 : 1;
