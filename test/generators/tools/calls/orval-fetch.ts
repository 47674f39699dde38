// Sends the requests of the client that orval generated.
import { environment } from './environment';

const { baseUrl, key, workspaceId } = environment;

export async function send<Answer>(url: string, options: RequestInit): Promise<Answer> {
  const headers = new Headers(options.headers);
  headers.set('Authorization', `Bearer ${key}`);
  headers.set('X-Service-Workspace-Id', workspaceId);
  const isText = typeof options.body === 'string' && !headers.has('Content-Type');
  if (isText) headers.set('Content-Type', 'application/json');
  const response = await fetch(baseUrl + url, { ...options, headers });
  const isJson = /[/+]json\b/.test(response.headers.get('Content-Type') ?? '');
  const data: unknown = isJson ? await response.json() : response.body;
  return { data, status: response.status, headers: response.headers } as Answer;
}
