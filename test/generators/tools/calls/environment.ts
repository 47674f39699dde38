// What the clients have in common: where they find the service, what they send, and how they report.

declare const process: { env: Record<string, string | undefined> };

const variable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set.`);
  return value;
};

export const environment = {
  baseUrl: variable('SERVICE_URL'),
  key: variable('SERVICE_API_KEY'),
  workspaceId: variable('SERVICE_WORKSPACE_ID'),
};

/** Two valid records, and one that repeats the `external_id` of the first. */
export const RECORDS = ['a', 'b', 'a'].map((external_id) => ({
  workspace_id: environment.workspaceId,
  external_id,
  input: { question: external_id, nested: [1, null, { deep: true }] },
}));

export const CSV = 'case,question,answer\r\nc1,What is 6 times 7?,42\r\n';

/** Returns the body of a response, or throws its error. */
export function found<Data>(result: { data?: Data; error?: unknown }): Data {
  if (result.data === undefined) throw new Error(JSON.stringify(result.error));
  return result.data;
}

/** Returns the number of lines that a stream sends. */
export async function linesOf(stream: ReadableStream<Uint8Array> | null): Promise<number> {
  const text = await new Response(stream).text();
  return text.trim().split('\n').length;
}

/** What every client must report. */
interface Report {
  created: string;
  listed: string[];
  bulk: (string | null | undefined)[];
  rows: number;
  file: string;
  lines: number;
}

export const report = (outcome: Report): void => console.log(JSON.stringify(outcome));
