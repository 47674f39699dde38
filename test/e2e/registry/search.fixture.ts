import type { Answer, ApiClient, TestOrganization } from '#testing';

export const SEARCH = '/registry/v1/search';

export interface SearchItem {
  type: string;
  id: string;
  name: string;
  description: string | null;
  workspace_id: string;
  score: number;
  ranks: { keyword: number | null; vector: number | null };
  highlight: string | null;
}

export interface SearchPage {
  items: SearchItem[];
  page: { limit: number; offset: number; total: number | null; next_cursor: string | null };
  vector_unavailable: boolean;
}

let made = 0;

/** Registers a repository, which is indexed with its URL as its text. @returns its id */
export async function register(
  by: ApiClient,
  workspace_id: string,
  body: { name: string; description?: string; url?: string },
): Promise<string> {
  const url = `https://git.example.com/r/n${(made += 1)}`;
  const answer = await by.post('/registry/v1/repos', { workspace_id, url, ...body });
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.repo_id as string;
}

export const search = (by: ApiClient, body: Record<string, unknown>): Promise<Answer<SearchPage>> =>
  by.post(SEARCH, body);

/** Returns the names of the hits, in order. */
export async function names(by: ApiClient, body: Record<string, unknown>): Promise<string[]> {
  const answer = await search(by, body);
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.items.map(({ name }) => name);
}

/** Returns the status, the code and the first pointer of a problem. */
export const refusal = ({ status, body }: Answer): unknown[] => [
  status,
  body.code,
  body.errors?.[0]?.pointer,
];

export const editorOf = (organization: TestOrganization): Promise<ApiClient> => organization.member('editor');
