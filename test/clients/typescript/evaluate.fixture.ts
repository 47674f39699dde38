import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, evaluate, type EvaluateOptions, type EvalSummary } from '#client';
import { newOrganization, type TestApp, type TestOrganization } from '#testing';

/** A request of the client, before it is sent. */
export interface Sent {
  method: string;
  path: string;
  body: string;
  /** The API key or token. */
  key: string;
}

/** Sends a request, answers it otherwise, or throws as a broken connection does. */
export type Interception = (sent: Sent, send: () => Promise<Response>) => Promise<Response>;

/** A result of an experiment. */
export interface StoredResult {
  case_id: string;
  input: any;
  expected: any;
  output: any;
  error: any;
  scores: Record<string, number | null>;
  trace_id: string | null;
  dataset_record_id: string | null;
}

/** An organization whose evals keep their spools in a directory of their own. */
export class Evals {
  readonly dir = mkdtempSync(path.join(tmpdir(), 'evaluate-'));
  readonly spoolDir = path.join(this.dir, 'spool');
  private count = 0;

  private constructor(
    private readonly app: TestApp,
    readonly organization: TestOrganization,
    readonly key: string,
    readonly client: Client,
  ) {}

  static async open(app: TestApp): Promise<Evals> {
    for (const name of Object.keys(process.env))
      if (/_(SHA|SHA1|COMMIT|SOURCEVERSION)$/.test(name)) delete process.env[name];
    const organization = await newOrganization(app);
    const { key } = await organization.serviceAccount('evaluator');
    return new Evals(app, organization, key, clientOf(app.url, organization, key));
  }

  close(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Returns a name that no other eval of the organization has. */
  name(): string {
    return `eval ${++this.count}`;
  }

  /** Returns a client whose requests pass an interception. */
  intercepted(interception: Interception, apiKey: string | (() => string) = this.key): Client {
    return clientOf(this.app.url, this.organization, apiKey, interception);
  }

  /** Returns a client with a key of another role. */
  async as(...roles: Parameters<TestOrganization['serviceAccount']>): Promise<Client> {
    const { key } = await this.organization.serviceAccount(...roles);
    return clientOf(this.app.url, this.organization, key);
  }

  /** Runs an eval in which a few cases return their input, unless the options say otherwise. */
  run(options: Partial<EvaluateOptions> = {}): Promise<EvalSummary> {
    return evaluate({
      name: this.name(),
      data: itemsOf(3),
      task: ({ input }) => input,
      client: this.client,
      spoolDir: this.spoolDir,
      ...options,
    });
  }

  /** Returns all results of an experiment, in the order of their case ids. */
  async results(experimentId: string): Promise<StoredResult[]> {
    const found: StoredResult[] = [];
    for await (const result of this.client.api.listResults({ experiment_id: experimentId }))
      found.push(result);
    return found.sort((a, b) => (a.case_id < b.case_id ? -1 : 1));
  }

  /** Returns the spool files, all or those of one eval. */
  spools(name = ''): string[] {
    const start = name === '' ? '' : `${name.replace(' ', '-')}-`;
    return readdirSync(this.spoolDir).filter((file) => file.startsWith(start) && file.endsWith('.jsonl'));
  }
}

function clientOf(
  url: string,
  { workspaceId }: TestOrganization,
  apiKey: string | (() => string),
  interception?: Interception,
): Client {
  const intercept: typeof fetch = (input, init) => {
    const sent = {
      method: init?.method ?? 'GET',
      path: (input as string).slice(url.length),
      body: typeof init?.body === 'string' ? init.body : '',
      key: new Headers(init?.headers).get('authorization')!.slice('Bearer '.length),
    };
    return interception!(sent, () => fetch(input, init));
  };
  return new Client({ url, apiKey, workspaceId, ...(interception && { fetch: intercept }) });
}

/** Returns items whose expected value is their input. */
export const itemsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `c${index}`, input: index, expected: index }));

/** Scores 1 if the output is the expected one. */
export function exact({ output, expected }: { output: unknown; expected: unknown }): boolean {
  return JSON.stringify(output) === JSON.stringify(expected);
}

/** A problem response of the service. */
export const problemOf = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json(
    { title: code, status, detail: `${code} of the test`, code, trace_id: '0'.repeat(32) },
    { status, headers: { 'content-type': 'application/problem+json', ...headers } },
  );

/** Breaks a connection. */
export const cut = (): never => {
  throw new TypeError('fetch failed');
};

/** Whether a request uploads results. */
export const isUpload = ({ path: target }: Sent): boolean => target.endsWith('/results/bulk');
