// Compiles the project named on the command line: type-checked, incremental, and with the OpenAPI plugin of
// @nestjs/swagger, which needs the TypeScript API. The same output is shipped and tested. With --no-check, writes the same
// files in half the time, without checking types.
import { createRequire } from 'node:module';
import { rmSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { beginBuild, buildInfoFile, finishBuild } from './lib/build-state.mjs';
import { ROOT } from './lib/project.mjs';

const require = createRequire(import.meta.url);
const swagger = require('@nestjs/swagger/plugin');

/**
 * Sorts the enums that the plugin derives from unions. The compiler orders a union by which types it has seen first, so
 * the order would depend on whether types are checked, and in an incremental build on which files have changed.
 */
const sortEnums = (context) => (file) => {
  const visit = (node) => {
    if (
      !ts.isPropertyAssignment(node) ||
      node.name.text !== 'enum' ||
      !ts.isArrayLiteralExpression(node.initializer)
    )
      return ts.visitEachChild(node, visit, context);
    const values = [...node.initializer.elements].sort((a, b) => (String(a.text) < String(b.text) ? -1 : 1));
    const list = ts.factory.createArrayLiteralExpression(values);
    return ts.factory.updatePropertyAssignment(node, node.name, list);
  };
  const inClass = (node) =>
    ts.isMethodDeclaration(node) && node.name.text === '_OPENAPI_METADATA_FACTORY'
      ? ts.visitEachChild(node, visit, context)
      : node;
  const inFile = (node) => (ts.isClassDeclaration(node) ? ts.visitEachChild(node, inClass, context) : node);
  return ts.visitEachChild(file, inFile, context);
};

/** Builds one tsconfig. Prints errors and returns false if there are any. */
function build(configFile, { checkTypes }) {
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(ROOT, configFile),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
      },
    },
  );
  const buildInfo = buildInfoFile(configFile);
  beginBuild(configFile);
  if (!checkTypes) rmSync(buildInfo, { force: true }); // this build overwrites its files
  const options = checkTypes
    ? { ...config.options, incremental: true, tsBuildInfoFile: buildInfo }
    : // keeps every import that does not say `type`, which saves the search for its uses
      { ...config.options, noCheck: true, verbatimModuleSyntax: true };
  const program = checkTypes
    ? ts.createIncrementalProgram({ rootNames: config.fileNames, options })
    : ts.createProgram(config.fileNames, options);
  const plugin = swagger.before(
    { introspectComments: true, classValidatorShim: true },
    checkTypes ? program.getProgram() : program,
  );
  const diagnostics = [
    ...config.errors,
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...(checkTypes ? program.getSemanticDiagnostics() : []),
  ];
  if (diagnostics.length === 0) {
    diagnostics.push(
      ...program.emit(undefined, undefined, undefined, false, { before: [plugin, sortEnums] }).diagnostics,
    );
  }
  if (diagnostics.length > 0) {
    rmSync(buildInfo, { force: true });
    console.error(
      ts.formatDiagnostics(ts.sortAndDeduplicateDiagnostics(diagnostics), {
        getCurrentDirectory: () => process.cwd(),
        getCanonicalFileName: (file) => file,
        getNewLine: () => '\n',
      }),
    );
    return false;
  }
  finishBuild(configFile, { checkTypes });
  return true;
}

const [configFile = 'tsconfig.json', option] = process.argv.slice(2);
process.exitCode = build(configFile, { checkTypes: option !== '--no-check' }) ? 0 : 1;
