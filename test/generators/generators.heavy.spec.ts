import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { newOrganization, sharedApp } from '#testing';

const FOLDER = 'test/generators/tools';

/** Installs the generators, in a folder of their own because they need other versions of TypeScript. */
function install(): void {
  const script = `
    const { ensureDependencies } = await import('./scripts/lib/dependencies.mjs');
    process.exitCode = (await ensureDependencies({ folder: '${FOLDER}' })) ? 0 : 1;
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The generators cannot be installed from the npm registry: ${stderr}`);
}

describe('common generators of clients', () => {
  const app = sharedApp();

  it('accept the document, and make clients that compile and work', async () => {
    install();
    rmSync(`${FOLDER}/generated`, { recursive: true, force: true });
    mkdirSync(`${FOLDER}/generated`);
    const document = await fetch(`${app.url}/openapi.json`);
    writeFileSync(`${FOLDER}/generated/openapi.json`, await document.text());
    const organization = await newOrganization(app);
    const child = spawn(process.execPath, [`${FOLDER}/generate.mjs`], {
      env: {
        ...process.env,
        SERVICE_URL: app.url,
        SERVICE_API_KEY: await organization.token('admin'),
        SERVICE_WORKSPACE_ID: organization.workspaceId,
      },
    });
    const [output, log] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(log).toBe('');
    const outcomeOf = (name: string) => ({
      created: name,
      listed: [name],
      bulk: ['a', 'b', 'conflict'],
      rows: 1,
      file: `${name}.csv`,
      lines: 2,
    });
    const names = ['hey-api', 'openapi-typescript', 'orval'];
    expect(JSON.parse(output)).toEqual(Object.fromEntries(names.map((name) => [name, outcomeOf(name)])));
  }, 180_000);
});
