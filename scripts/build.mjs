// Compiles the project named on the command line: type-checked, incremental, and with the OpenAPI plugin of
// @nestjs/swagger, which needs the TypeScript API. The same output is shipped and tested.
import { createRequire } from 'node:module';
import { rmSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { beginBuild, buildInfoFile, finishBuild } from './lib/build-state.mjs';
import { ROOT } from './lib/project.mjs';

const require = createRequire(import.meta.url);
const swagger = require('@nestjs/swagger/plugin');

/** Builds one tsconfig. Prints type errors and returns false if there are any. */
export function build(configFile) {
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
  const options = { ...config.options, incremental: true, tsBuildInfoFile: buildInfo };
  const builder = ts.createIncrementalProgram({ rootNames: config.fileNames, options });
  const plugin = swagger.before({ introspectComments: true, classValidatorShim: true }, builder.getProgram());
  const diagnostics = [
    ...config.errors,
    ...builder.getConfigFileParsingDiagnostics(),
    ...builder.getOptionsDiagnostics(),
    ...builder.getGlobalDiagnostics(),
    ...builder.getSyntacticDiagnostics(),
    ...builder.getSemanticDiagnostics(),
  ];
  if (diagnostics.length === 0) {
    diagnostics.push(
      ...builder.emit(undefined, undefined, undefined, false, { before: [plugin] }).diagnostics,
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
  finishBuild(configFile);
  return true;
}

if (process.argv[1] && import.meta.filename === path.resolve(process.argv[1])) {
  process.exitCode = build(process.argv[2] ?? 'tsconfig.json') ? 0 : 1;
}
