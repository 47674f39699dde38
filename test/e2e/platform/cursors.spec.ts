import { type Answer, type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';

interface Listed {
  items: { external_id: string; created_at: string }[];
  page: { total: number | null; next_cursor: string | null };
}

/** A cursor that goes on with another list would give the position and the total of the first list. */
describe('a cursor', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let client: ApiClient;
  let [dataset, other] = ['', ''];

  const create = async (name: string, count: number): Promise<string> => {
    const { body } = await client.post('/eval/v1/datasets', { workspace_id: client.workspaceId, name });
    const id = body.dataset_id as string;
    await client.post(`/eval/v1/datasets/${id}/records/bulk`, {
      workspace_id: client.workspaceId,
      items: Array.from({ length: count }, (_, index) => ({
        input: index,
        external_id: String(index),
        tags: [index % 2 === 0 ? 'even' : 'odd'],
      })),
    });
    return id;
  };

  beforeAll(async () => {
    organization = await newOrganization(app);
    client = await organization.as('editor');
    dataset = await create('one', 6);
    other = await create('two', 2);
  });

  const records = (query: string, id = dataset): Promise<Answer> =>
    client.get(`/eval/v1/datasets/${id}/records?${query}`);
  const listOf = ({ body }: Answer): Listed => body as unknown as Listed;
  const cursorOf = async (answer: Promise<Answer>): Promise<string> =>
    encodeURIComponent(listOf(await answer).page.next_cursor!);

  it('reads the whole list, with any limit and with the sort named or not', async () => {
    const first = await records('limit=2');
    const second = await records(`limit=3&sort=-created_at&cursor=${await cursorOf(Promise.resolve(first))}`);
    const third = await records(`limit=5&cursor=${await cursorOf(Promise.resolve(second))}`);
    const ids = [first, second, third].flatMap((answer) =>
      listOf(answer).items.map((one) => one.external_id),
    );
    expect(ids).toEqual(['5', '4', '3', '2', '1', '0']);
    expect(listOf(third).page).toMatchObject({ total: 6, next_cursor: null });
  });

  it.each([
    ['other filters', (cursor: string) => records(`limit=2&tag=even&cursor=${cursor}`)],
    ['an added filter of time', (cursor: string) => records(`since=2020-01-01T00:00:00Z&cursor=${cursor}`)],
    ['another sort', (cursor: string) => records(`limit=2&sort=updated_at&cursor=${cursor}`)],
    ['another resource of the kind', (cursor: string) => records(`limit=2&cursor=${cursor}`, other)],
    ['another list', (cursor: string) => client.get(`/eval/v1/datasets?cursor=${cursor}`)],
    ['a list of another area', (cursor: string) => client.get(`/file/v1/files?cursor=${cursor}`)],
    ['its end cut off', (cursor: string) => records(`limit=2&cursor=${cursor.slice(0, -1)}`)],
  ])('is 400 with %s', async (_, read) => {
    const { status, body } = await read(await cursorOf(records('limit=2')));
    expect([status, body.code]).toEqual([400, 'invalid_query']);
    expect(body.errors).toEqual([expect.objectContaining({ parameter: 'cursor' })]);
  });

  it('is 400 without the filters that it was made with', async () => {
    const { status, body } = await records(`cursor=${await cursorOf(records('limit=1&tag=odd'))}`);
    expect([status, body.detail]).toEqual([400, expect.stringContaining('the same filters')]);
  });

  it('is 400 in another workspace', async () => {
    const anywhere = client.in(await organization.newWorkspace());
    const cursor = await cursorOf(client.get('/eval/v1/datasets?limit=1'));
    expect((await anywhere.get(`/eval/v1/datasets?limit=1&cursor=${cursor}`)).status).toBe(400);
  });

  it('of a search is 400 with other filters, and names the member', async () => {
    const search = (body: object) => client.post('/eval/v1/datasets/search', body);
    const { next_cursor: cursor } = listOf(await search({ limit: 1 })).page;
    const next = listOf(await search({ limit: 1, cursor }));
    expect([next.items.length, next.page.next_cursor]).toEqual([1, null]);
    const { status, body } = await search({ limit: 1, cursor, q: 'one' });
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ pointer: '/cursor' })]]);
  });

  it('of the cases of a comparison, of starters and of rows is bound as well', async () => {
    const starters = await cursorOf(client.get('/eval/v1/scorer-starters?limit=1'));
    expect((await client.get(`/eval/v1/scorer-starters?cursor=${starters}`)).status).toBe(200);
    const filtered = await client.get(`/eval/v1/scorer-starters?grain=trace&cursor=${starters}`);
    expect(filtered.status).toBe(400);
  });
});

describe('a list', () => {
  const app = sharedApp();
  let client: ApiClient;
  let dataset = '';

  beforeAll(async () => {
    client = await (await newOrganization(app)).as('editor');
    const { body } = await client.post('/eval/v1/datasets', {
      workspace_id: client.workspaceId,
      name: 'one',
    });
    dataset = body.dataset_id as string;
    for (const input of [1, 2, 3]) {
      await client.post(`/eval/v1/datasets/${dataset}/records`, { workspace_id: client.workspaceId, input });
    }
  });

  const records = async (query: string): Promise<Listed> =>
    (await client.get(`/eval/v1/datasets/${dataset}/records?${query}`)).body as unknown as Listed;

  it('does not count with total=false, on any page', async () => {
    const first = await records('limit=2&total=false');
    expect([first.items.length, first.page.total]).toEqual([2, null]);
    const next = await records(`total=false&cursor=${encodeURIComponent(first.page.next_cursor!)}`);
    expect([next.items.length, next.page.total]).toEqual([1, null]);
    expect((await records('limit=2&total=true')).page.total).toBe(3);
  });

  it('contains what was created since a time and until another', async () => {
    const { items } = await records('sort=created_at');
    const time = encodeURIComponent(items[1]!.created_at);
    expect((await records(`since=${time}`)).page.total).toBeGreaterThanOrEqual(2);
    const until = await records(`until=${time}`);
    expect(until.items.every(({ created_at }) => created_at < items[1]!.created_at)).toBe(true);
    expect(until.page.total).toBeGreaterThanOrEqual(0);
    expect((await records(`since=${time}&until=${time}`)).items).toEqual([]);
    expect((await records('since=2099-01-01T00:00:00Z')).page.total).toBe(0);
    expect((await records('since=2099-01-01T00:00:00%2B02:00')).page.total).toBe(0);
    expect((await records('until=2000-01-01T00:00:00Z')).page.total).toBe(0);
  });

  it.each([
    ['since', '2099-01-01T00:00:00+02:00', /%2B/],
    ['until', '2099-01-01T00:00:00.123456+02:00', /%2B/],
    ['since', '2099-01-01 24:00:00Z', /such as/],
    ['since', '2098-12-31T23:59:60Z', /such as/],
  ])('returns 400 for %s=%s', async (name, time, detail) => {
    const answer = await client.get(`/eval/v1/datasets/${dataset}/records?${name}=${time}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([{ parameter: name, detail: expect.stringMatching(detail) }]);
  });
});
