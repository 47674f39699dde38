import { readFileSync, rmSync } from 'node:fs';
import type { Bootstrap } from '#testing';
import { runToEnd, StartedService, temporaryDirectory } from './start.harness';

describe('the package of npm pack', () => {
  let directory: string;
  let service: StartedService | undefined;

  beforeAll(() => {
    directory = temporaryDirectory();
  });
  afterAll(() => {
    service?.kill();
    rmSync(directory, { recursive: true });
  });

  it('installs in an empty directory, starts with npx without building, serves, and stops on SIGTERM', async () => {
    const pack = await runToEnd(['npm', 'pack', '--silent', '--pack-destination', directory]);
    expect(pack).toMatchObject({ code: 0 });
    const options = { cwd: directory };
    const install = await runToEnd(
      ['npm', 'install', '--prefer-offline', `./${pack.stdout.trim()}`],
      options,
    );
    expect(install).toMatchObject({ code: 0 });

    service = await StartedService.start(['npx', '--no', 'agent-registry-service'], options);
    const { base_url, workspace_id, api_key } = JSON.parse(
      readFileSync(service.bootstrapFile, 'utf8'),
    ) as Bootstrap;
    const headers = { Authorization: `Bearer ${api_key}`, 'X-Service-Workspace-Id': workspace_id };
    const response = await fetch(`${base_url}/eval/v1/datasets`, { headers });
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ items: [] })]);
    const docs = await fetch(`${base_url}/docs/assets/swagger-ui.css`);
    expect(docs.status).toBe(200);
    const client = `${base_url}/docs/clients/agent-registry.tgz`;
    expect(await runToEnd(['npm', 'install', '--prefer-offline', client], options)).toMatchObject({
      code: 0,
    });
    await service.stop();
    expect(service.stderr).toBe('');
  }, 300_000);
});
