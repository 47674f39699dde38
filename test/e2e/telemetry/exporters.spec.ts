import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const run = promisify(execFile);

const EXPORTERS = [
  ['protobuf', 'proto', 'none'],
  ['protobuf, gzip', 'proto', 'gzip'],
  ['JSON', 'http', 'none'],
  ['JSON, gzip', 'http', 'gzip'],
] as const;

describe('the official OpenTelemetry exporters, unchanged', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let client: ApiClient;
  let traces: string;

  beforeAll(async () => {
    organization = await newOrganization(app);
    client = await organization.as('editor');
    const { body } = await client.post('/eval/v1/experiments', {
      workspace_id: organization.workspaceId,
      name: 'exported',
    });
    traces = `/eval/v1/experiments/${body.experiment_id}/traces`;
  });

  /** Runs an instrumented program. Returns the id of the trace that it has exported when it ends. */
  async function record(kind: string, config: object | undefined, env = process.env): Promise<string> {
    const program = path.join(__dirname, 'exporter.child.js');
    const { stdout } = await run(process.execPath, [program, kind, config ? JSON.stringify(config) : ''], {
      env,
    });
    return stdout;
  }

  it.each(EXPORTERS)('deliver complete traces: %s', async (_, kind, compression) => {
    const id = await record(kind, {
      url: `${app.url}/telemetry/v1/traces`,
      headers: {
        Authorization: `Bearer ${await organization.token('runtime')}`,
        'X-Service-Workspace-Id': organization.workspaceId,
      },
      compression,
    });
    const { body } = await client.get(`${traces}/${id}`);
    expect(body).toEqual({
      trace_id: id,
      root_name: 'invoke_agent helper',
      started_at: '2026-11-20T00:00:00.000Z',
      duration_ms: 100,
      span_count: 3,
      error_count: 1,
      input_tokens: 120,
      output_tokens: 30,
      cost_usd: 0.0012,
      models: ['gpt-4o'],
      session_id: 'ses_1',
      result_id: null,
      case_id: null,
      service_name: 'shop',
      user_id: null,
      environment: 'test',
      tags: [],
      prompt_name: null,
      prompt_version: null,
      input_preview: 'How are you?',
      output_preview: 'Fine.',
    });
    const spans = (await client.get(`${traces}/${id}/spans`)).body;
    expect(spans.page.total).toBe(3);
    const [root, call, tool] = spans.items;
    expect(call).toEqual({
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      parent_span_id: root.span_id,
      name: 'chat gpt-4o',
      kind: 'client',
      status: { code: 'unset', message: null },
      dropped_attributes_count: 0,
      dropped_events_count: 0,
      dropped_links_count: 0,
      started_at: '2026-11-20T00:00:00.010Z',
      ended_at: '2026-11-20T00:00:00.060Z',
      duration_ms: 50,
      start_unknown: false,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.response.model': 'gpt-4o',
        'gen_ai.usage.input_tokens': 120,
        'gen_ai.usage.output_tokens': 30,
        'gen_ai.usage.cost': 0.0012,
        'gen_ai.request.stop_sequences': ['END', 'STOP'],
      },
      events: [
        {
          name: 'gen_ai.choice',
          timestamp: '2026-11-20T00:00:00.011000000Z',
          attributes: { index: 0 },
          dropped_attributes_count: 0,
        },
      ],
      links: [],
      resource: expect.objectContaining({
        attributes: expect.objectContaining({ 'service.name': 'shop', 'deployment.environment': 'test' }),
      }),
      scope: expect.objectContaining({ name: 'agent', version: '1.2.3' }),
    });
    expect(root.parent_span_id).toBeNull();
    expect(tool.status).toEqual({ code: 'error', message: 'no such city' });
  });

  it('need only OTEL_EXPORTER_OTLP_ENDPOINT to find the service', async () => {
    const id = await record('proto', undefined, {
      ...process.env,
      OTEL_EXPORTER_OTLP_ENDPOINT: `${app.url}/telemetry`,
      OTEL_EXPORTER_OTLP_HEADERS: [
        `Authorization=Bearer ${await organization.token('runtime')}`,
        `X-Service-Workspace-Id=${organization.workspaceId}`,
      ].join(','),
    });
    expect((await client.get(`${traces}/${id}`)).body).toMatchObject({ span_count: 3 });
  });
});
