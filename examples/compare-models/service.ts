import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The URL, workspace and credential of the service. */
export interface Connection {
  base_url: string;
  workspace_id: string;
  api_key: string;
}

/**
 * Returns `SERVICE_URL`, `SERVICE_WORKSPACE_ID` and `SERVICE_API_KEY` if all are set, else the bootstrap.json that
 * `npm start` writes under `DATA_DIR`.
 */
export async function connect(): Promise<Connection> {
  const { SERVICE_URL, SERVICE_WORKSPACE_ID, SERVICE_API_KEY, DATA_DIR = '.data' } = process.env;
  if (SERVICE_URL && SERVICE_WORKSPACE_ID && SERVICE_API_KEY) {
    return { base_url: SERVICE_URL, workspace_id: SERVICE_WORKSPACE_ID, api_key: SERVICE_API_KEY };
  }
  const file = path.resolve(DATA_DIR, 'bootstrap.json');
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Connection;
  } catch {
    throw new Error(
      `Cannot read ${file}. Run \`npm start\` first, in another terminal, with the same DATA_DIR. To use another service, set SERVICE_URL, SERVICE_WORKSPACE_ID and SERVICE_API_KEY.`,
    );
  }
}

const ATTEMPTS = 5;

/** A small client for the HTTP API: JSON in, JSON out, errors as exceptions. Retries 429 and 503. */
export class Service {
  constructor(readonly connection: Connection) {}

  get headers(): Record<string, string> {
    return {
      Authorization: `Bearer ${this.connection.api_key}`,
      'X-Service-Workspace-Id': this.connection.workspace_id,
    };
  }

  get<Answer>(route: string): Promise<Answer> {
    return this.call<Answer>('GET', route);
  }

  post<Answer>(route: string, body: object): Promise<Answer> {
    return this.call<Answer>('POST', route, body);
  }

  patch<Answer>(route: string, body: object): Promise<Answer> {
    return this.call<Answer>('PATCH', route, body);
  }

  private async call<Answer>(method: string, route: string, body?: object): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.send(route, {
        method,
        headers: { ...this.headers, ...(body && { 'Content-Type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      const answer = (await response.json()) as Answer & { detail?: string; code?: string };
      if (response.ok) return answer;
      const retry = (response.status === 429 || response.status === 503) && attempt < ATTEMPTS;
      if (!retry) throw new Error(`${method} ${route}: ${response.status} ${answer.code}: ${answer.detail}`);
      await delay(Number(response.headers.get('Retry-After') ?? 1) * 1000);
    }
  }

  private async send(route: string, request: RequestInit): Promise<Response> {
    const { base_url } = this.connection;
    try {
      return await fetch(`${base_url}${route}`, request);
    } catch (error) {
      throw new Error(`Cannot reach the service at ${base_url}. Is \`npm start\` running?`, { cause: error });
    }
  }
}
