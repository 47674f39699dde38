import { context, trace } from '@opentelemetry/api';
import { Client } from '#client';
import { startTracing, type Tracing } from '#client/otel';
import { type ApiClient, newOrganization, sharedApp, type TestApp } from '#testing';

/** The service, and a process that sends its spans there. */
export class TracedApp {
  api!: ApiClient;
  apiKey!: string;
  client!: Client;
  /** Ends after the test. A test may replace it. */
  tracing!: Tracing;

  constructor(readonly app: TestApp) {}

  async start(): Promise<void> {
    const organization = await newOrganization(this.app);
    this.api = await organization.as('editor');
    this.apiKey = await organization.token('editor');
    const { workspaceId } = organization;
    this.client = new Client({ url: this.app.url, apiKey: this.apiKey, workspaceId });
    this.tracing = startTracing({ client: this.client, serviceName: 'support' });
  }

  async stop(): Promise<void> {
    await this.tracing.shutdown();
    trace.disable();
    context.disable();
  }

  /** Returns the traces that were recorded, newest first. */
  async traces(query = ''): Promise<any[]> {
    await this.tracing.forceFlush();
    return (await this.api.get(`/telemetry/v1/traces?${query}`)).body.items;
  }

  /** Returns the spans of a trace, with the input and the output that were recorded. */
  async spansOf(traceId: string): Promise<any[]> {
    const { items } = (await this.api.get(`/telemetry/v1/traces/${traceId}/spans`)).body;
    return items.map((span: any) => ({
      ...span,
      input: contentOf(span, 'input'),
      output: contentOf(span, 'output'),
    }));
  }

  /** Returns the spans of the only trace, by name. */
  async spans(): Promise<Record<string, any>> {
    const [only, ...others] = await this.traces();
    expect(others).toEqual([]);
    return Object.fromEntries((await this.spansOf(only.trace_id)).map((span) => [span.name, span]));
  }
}

function contentOf({ attributes }: any, member: 'input' | 'output'): unknown {
  const value = attributes[`${member}.value`] ?? null;
  return attributes[`${member}.mime_type`] === 'application/json' ? JSON.parse(value) : value;
}

/** Starts tracing before each test, into a workspace of the test. For the first line of a `describe`. */
export function tracedApp(): TracedApp {
  const traced = new TracedApp(sharedApp());
  beforeEach(() => traced.start());
  afterEach(() => traced.stop());
  return traced;
}
