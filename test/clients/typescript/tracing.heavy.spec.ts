import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ApiClient, newOrganization, sharedApp } from '#testing';

const FOLDER = 'examples/tracing';
const CLIENT = path.join(FOLDER, 'node_modules/agent-registry');

/** The examples, and how many calls of the model their spans show. Mastra's span covers both. */
const EXAMPLES: [string, { calls: number }][] = [
  ['ai-sdk', { calls: 2 }],
  ['openai-agents', { calls: 2 }],
  ['langchain', { calls: 2 }],
  ['mastra', { calls: 1 }],
];

/** Installs the frameworks, in a folder of their own, and the client as it is published. */
function install(): void {
  const script = `
    const { ensureDependencies } = await import('./scripts/lib/dependencies.mjs');
    process.exitCode = (await ensureDependencies({ folder: '${FOLDER}' })) ? 0 : 1;
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The frameworks cannot be installed from the npm registry: ${stderr}`);
  rmSync(CLIENT, { recursive: true, force: true });
  mkdirSync(CLIENT);
  const archive = 'clients/typescript/dist/agent-registry.tgz';
  execFileSync('tar', ['-xzf', archive, '-C', CLIENT, '--strip-components', '1']);
}

describe('tracing of agents', () => {
  const app = sharedApp();
  let api: ApiClient;
  let env: NodeJS.ProcessEnv;
  let provider: ChildProcess;

  beforeAll(async () => {
    install();
    provider = spawn(process.execPath, ['examples/model-gateway/fake-provider.mjs'], {
      env: { ...process.env, FAKE_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [printed] = (await once(provider.stdout!, 'data')) as [Buffer];
    const organization = await newOrganization(app);
    api = await organization.as('viewer');
    env = {
      PATH: process.env.PATH,
      ...{ SERVICE_URL: app.url, SERVICE_API_KEY: await organization.token('runtime') },
      SERVICE_WORKSPACE_ID: organization.workspaceId,
      OPENAI_BASE_URL: /http:\S+/.exec(String(printed))![0],
      ...{ OPENAI_API_KEY: 'sk-fake', MODEL: 'gpt-test' },
    };
  }, 180_000);
  afterAll(async () => {
    provider.kill();
    await once(provider, 'exit');
  });

  it.each(EXAMPLES)(
    'shows model, tokens, cost, messages, tool, user and session of %s',
    async (name, { calls }) => {
      const { stdout } = await promisify(execFile)(process.execPath, [`${FOLDER}/${name}.mjs`], { env });
      expect(stdout).toContain('Order 7 has shipped.');
      const session = `${name}-1`;
      const { items } = (await api.get(`/telemetry/v1/traces?session_id=${session}`)).body;
      expect(items).toMatchObject([
        {
          ...{
            service_name: 'support',
            session_id: session,
            user_id: 'ada',
            tags: ['example'],
            status: 'ok',
          },
          // 2 and 10 dollars for a million tokens
          ...{ models: ['gpt-test'], input_tokens: 2000, output_tokens: 1000, cost_usd: 0.014 },
          ...{ input_preview: 'Where is order 7?', output_preview: 'Order 7 has shipped.' },
        },
      ]);
      const { spans } = (await api.get(`/telemetry/v1/traces/${items[0].trace_id}`)).body;
      const withModel = spans.filter(
        (span: any) => span.model === 'gpt-test' && span.operation !== 'invoke_agent',
      );
      expect(withModel).toHaveLength(calls);
      expect(spans.filter((span: any) => span.tool_name === 'lookup_order')).toHaveLength(1);
      const transcript = (await api.get(`/telemetry/v1/sessions/${session}/transcript`)).body.items;
      const said = transcript.filter(({ role }: any) => role !== 'system');
      expect(said).toMatchObject([
        { kind: 'message', role: 'user', content: 'Where is order 7?' },
        {
          ...{ kind: 'tool_call', tool_name: 'lookup_order', arguments: { order_id: 7 } },
          result: { order_id: 7, state: 'shipped' },
        },
        { kind: 'message', role: 'assistant', content: 'Order 7 has shipped.' },
      ]);
      expect(said).toHaveLength(3);
    },
  );

  it('lets a process end while the service is away, and says what was lost', async () => {
    const script = path.resolve('dist/test/clients/typescript/traced-agent.child.js');
    const child = spawn(process.execPath, ['--import', 'agent-registry/otel', script, 'status'], {
      cwd: 'clients/typescript',
      env: { ...env, SERVICE_URL: 'http://127.0.0.1:9' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(3);
    expect(log.trim().split('\n')).toEqual([
      expect.stringContaining('The service cannot take spans at the moment. 1 wait: '),
      expect.stringContaining('1 span was dropped: '),
    ]);
  });
});
