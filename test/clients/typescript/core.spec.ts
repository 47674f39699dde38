import { createHash, randomBytes } from 'node:crypto';
import { type api, Client, events, lines, ServiceError } from '#client';
import { jsonExport, newSpan, newTraceId, sharedJudge } from '#testing';
import {
  begin,
  chat,
  chatStream,
  contentChunk,
  FakeProvider,
  modelOf,
  send,
} from '../../e2e/model-gateway/provider.fixture';
import { FaultServer } from '../fault-server';
import { newClient } from './client.fixture';

const skill = { name: 'greeting', description: 'Greets people.', instructions: 'Say hello.' };

describe('the client, at the running service,', () => {
  const shared = sharedJudge();
  const open = (options = {}) => newClient(shared.app, options);

  /** A dataset with records `r0`, `r1` and so on. */
  async function newDataset(client: Client, count: number): Promise<api.Dataset> {
    const dataset = await client.api.createDataset({ body: { name: 'qa' } });
    const records = Array.from({ length: count }, (_, i) =>
      JSON.stringify({ external_id: `r${i}`, input: { i } }),
    );
    const { dataset_id } = dataset;
    await client.api.importRecords({ dataset_id, body: records.join('\n') });
    return dataset;
  }

  it('takes the workspace from its settings, and another one for a call', async () => {
    const { client, org } = await open();
    const other = await org.newWorkspace();
    expect((await client.api.createDataset({ body: { name: 'a' } })).workspace_id).toBe(org.workspaceId);
    const there = await client.api.createDataset({ body: { name: 'a' } }, { workspaceId: other });
    expect(there.workspace_id).toBe(other);
    const { items } = await client.api.listDatasets({}, { workspaceId: other });
    expect(items.map(({ dataset_id }) => dataset_id)).toEqual([there.dataset_id]);
    const form = new FormData();
    form.set('file', new Blob(['a']), 'a.txt');
    expect((await client.api.createFile({ body: form })).workspace_id).toBe(org.workspaceId);
    expect((await client.api.createFile({ name: 'b', body: 'b' })).workspace_id).toBe(org.workspaceId);
  });

  it('finds resources by names with any characters', async () => {
    const { client } = await open();
    for (const name of ['a b', 'a/b', 'a%2Fb?c#d', 'größe ✓', '..', '+&=']) {
      const { dataset_id } = await client.api.createDataset({ body: { name } });
      expect(await client.api.getDataset({ dataset_id: `name:${name}` })).toMatchObject({ dataset_id, name });
      expect((await client.api.listDatasets({ name })).items).toHaveLength(1);
    }
    for (const dataset_id of ['', '.', '..', undefined as unknown as string]) {
      await expect(client.api.getDataset({ dataset_id })).rejects.toThrow(
        /^dataset_id must be the id or name/,
      );
    }
  });

  it('reads lists: the first page, some items, all items, or page by page', async () => {
    const { client } = await open();
    const { dataset_id } = await newDataset(client, 450);
    const list = (request = {}) => client.api.listRecords({ dataset_id, ...request });
    const ids = (records: { external_id: string | null }[]) => records.map(({ external_id }) => external_id);

    const first = await list();
    expect([first.items.length, first.page.total]).toEqual([50, 450]);
    expect(ids(await list().take(2))).toEqual(['r449', 'r448']);
    expect(await list().take(0)).toEqual([]);
    expect(await list().take(1000)).toHaveLength(450);
    expect(await list({ limit: 7 }).take(20)).toHaveLength(20);
    const all: api.DatasetRecord[] = [];
    for await (const record of list({ sort: 'created_at' })) all.push(record);
    expect(ids(all)).toEqual(Array.from({ length: 450 }, (_, i) => `r${i}`));
    const sizes: unknown[] = [];
    for await (const { items, page } of list({ limit: 200, total: true }).pages())
      sizes.push([items.length, page.total]);
    expect(sizes).toEqual([
      [200, 450],
      [200, 450],
      [50, 450],
    ]);
    const rest: api.DatasetRecord[] = [];
    for await (const record of list({ limit: 100, offset: 300, sort: 'created_at' })) rest.push(record);
    expect(ids(rest)).toEqual(ids(all.slice(300)));
  });

  it('reads lists that continue in a body or by an offset', async () => {
    const { client } = await open();
    for (const name of ['a', 'b', 'c']) await client.api.createDataset({ body: { name } });
    const found: string[] = [];
    for await (const { name } of client.api.searchDatasets({ body: { limit: 2 } })) found.push(name);
    expect(found.sort()).toEqual(['a', 'b', 'c']);
    const artifact_id = (await client.api.createSkill({ body: skill })).skill_id;
    const publish = (name: string) =>
      client.api.createPublisherItem({
        body: {
          name,
          category: 'skills',
          license: 'MIT',
          actions: ['install'],
          artifact: { kind: 'skill', artifact_id },
        },
      });
    for (const name of ['one', 'two', 'three']) await publish(name);
    const items: string[] = [];
    for await (const { name } of client.api.listPublisherItems({ limit: 2 })) items.push(name);
    expect(items.sort()).toEqual(['one', 'three', 'two']);
  });

  it('gives the response with the body, or instead of it', async () => {
    const { client } = await open();
    const { dataset_id } = await newDataset(client, 0);
    const { data, requestId, headers, response } = await client.api.getDataset({ dataset_id }).withResponse();
    expect([data.name, response.status, headers.get('etag')]).toEqual(['qa', 200, '"1"']);
    expect(requestId).toBe(headers.get('x-request-id'));
    const raw = await client.api.getDataset({ dataset_id }).asResponse();
    expect([raw.status, await raw.json()]).toEqual([200, data]);

    const etag = headers.get('etag')!;
    const unchanged = client.api.getDataset({ dataset_id }, { ifNoneMatch: etag });
    await expect(unchanged).rejects.toMatchObject({ status: 304, code: 'not_modified' });
    const body = { description: 'new' };
    await client.api.updateDataset({ dataset_id, body }, { ifMatch: etag });
    const stale = client.api.updateDataset({ dataset_id, body: { description: 'newer' } }, { ifMatch: etag });
    await expect(stale).rejects.toMatchObject({ status: 412, code: 'precondition_failed' });

    const { file_id } = await client.api.createFile({ body: 'bytes' });
    await client.api.archiveFile({ file_id });
    expect(await client.api.deleteFile({ file_id })).toBeUndefined();
  });

  it('rejects with what the service says about each member', async () => {
    const { client } = await open();
    const { dataset_id } = await newDataset(client, 0);
    const error = await client.api
      .createDataset({ body: { name: '', nam: 1 } as { name: string } })
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ status: 400, code: 'invalid_request', retryAfter: null });
    expect((error as ServiceError).errors.map(({ pointer }) => pointer)).toContain('/nam');
    expect((error as ServiceError).requestId).toMatch(/\S/);
    const query = client.api.listRecords({ dataset_id, limit: 501 });
    await expect(query).rejects.toMatchObject({ code: 'invalid_query', errors: [{ parameter: 'limit' }] });
    const taken = client.api.createDataset({ body: { name: 'qa' } });
    await expect(taken).rejects.toMatchObject({ status: 409, code: 'conflict' });
    const missing = client.api.getDataset({ dataset_id: 'ds_missing' });
    await expect(missing).rejects.toMatchObject({ status: 404, code: 'not_found' });
    const stranger = new Client({ url: client.url, apiKey: 'rsk_wrong' });
    await expect(stranger.api.getMe()).rejects.toMatchObject({ status: 401 });
  });

  it('does the work of a call once, even if an answer is lost', async () => {
    const server = await FaultServer.start(shared.app.url);
    const random = jest.spyOn(Math, 'random').mockReturnValue(0);
    try {
      const { client } = await open({ url: server.url });
      server.play([{ action: 'lose' }, { action: 'reset' }, { action: 'status', status: 503 }]);
      const { dataset_id } = await client.api.createDataset({ body: { name: 'once' } });
      expect([server.processed, server.seen.length]).toEqual([2, 4]);
      expect(await client.api.listDatasets()).toMatchObject({ items: [{ dataset_id }], page: { total: 1 } });
      server.play([{ action: 'lose' }]);
      const form = new FormData();
      form.set('file', new Blob(['---\nname: once\ndescription: D.\n---\n\nI.\n']), 'once/SKILL.md');
      expect(await client.api.createSkill({ body: form })).toMatchObject({
        name: 'once',
        version_ordinal: 1,
      });
      expect(server.processed).toBe(2);
    } finally {
      random.mockRestore();
      await server.close();
    }
  });

  it('streams files up and down', async () => {
    const { client } = await open();
    const bytes = randomBytes(3 * 1024 * 1024);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 65_536) {
        yield bytes.subarray(at, at + 65_536);
        await new Promise(setImmediate);
      }
    }
    const file = await client.api.createFile(
      { name: 'data.bin', body: chunks() },
      { contentType: 'application/x-data' },
    );
    expect(file).toMatchObject({
      name: 'data.bin',
      media_type: 'application/x-data',
      size_bytes: bytes.length,
    });
    const { file_id } = file;
    const content = await client.api.getFileContent({ file_id });
    const hash = createHash('sha256');
    for await (const chunk of content.body!) hash.update(chunk);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(bytes).digest('hex'));

    const version = await client.api.createFileVersion({
      file_id,
      body: new Blob(['{"a": 1}'], { type: 'application/json' }),
    });
    expect(version).toMatchObject({ version_ordinal: 2, media_type: 'application/json' });
    const json = await client.api.getFileVersionContent(
      { file_id, version_ordinal: 2 },
      { headers: { Range: 'bytes=1-3' } },
    );
    expect([json.status, await json.text()]).toEqual([206, '"a"']);
    await client.api.createFileVersion({ file_id, body: '' });
    expect(await (await client.api.getFileContent({ file_id })).text()).toBe('');
  });

  it('reads exports line by line, and stops early', async () => {
    const { client } = await open();
    const { dataset_id } = await newDataset(client, 30);
    const inputs: unknown[] = [];
    for await (const record of lines<api.DatasetRecord>(await client.api.exportRecords({ dataset_id })))
      inputs.push(record.input);
    expect(inputs).toHaveLength(30);
    expect(inputs).toContainEqual({ i: 29 });
    for await (const record of lines(await client.api.exportRecords({ dataset_id }))) {
      expect(record).toMatchObject({ input: expect.any(Object) as object });
      break;
    }
    const version = await client.api.createDatasetVersion({ dataset_id, body: 'input,expected\n"a, b",c\n' });
    expect(version).toMatchObject({ version: 1, row_count: 1 });
    const csv = await client.api.getDatasetVersionContent({ dataset_id, version: 1 });
    expect(await csv.text()).toBe('input,expected\n"a, b",c\n');
  });

  it('sends and finds traces, with times as dates', async () => {
    const { client } = await open();
    const traceIds = [newTraceId(), newTraceId(), newTraceId()];
    const spans = traceIds.map((traceId) => newSpan({ traceId }));
    await client.api.ingestTraces({ body: jsonExport(spans) }, { contentType: 'application/json' });
    expect(await client.api.checkTraces({ body: { trace_ids: traceIds } })).toMatchObject({ missing: [] });
    const { items } = await client.api.listTraces({ since: new Date(0) });
    expect(items.map(({ trace_id }) => trace_id).sort()).toEqual([...traceIds].sort());
  });

  it("streams a model's answer", async () => {
    const { client, org } = await open();
    const provider = await FakeProvider.listen();
    try {
      const model = await modelOf(await org.member('admin'), org.workspaceId, provider);
      const request = { model, messages: [{ role: 'user', content: 'Hi' }] };
      provider.answer = chat('Hello');
      const whole = await client.api.createChatCompletion({ body: request });
      expect(whole).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
      provider.answer = chatStream(['Hel', 'lo']);
      const response = await client.api
        .createChatCompletion({ body: { ...request, stream: true } })
        .asResponse();
      const texts: unknown[] = [];
      for await (const { data } of events<{ choices: { delta: { content?: string } }[] }>(response))
        texts.push(data.choices[0]?.delta.content);
      expect(texts.filter(Boolean)).toEqual(['Hel', 'lo']);

      const controller = new AbortController();
      provider.answer = (_call, answer) => {
        begin(answer);
        send(answer, contentChunk('Hel')); // and nothing more
      };
      const endless = client.models.stream({ ...request }, { signal: controller.signal });
      expect((await endless.next()).value).toMatchObject({ choices: [{ delta: { content: 'Hel' } }] });
      controller.abort(new Error('enough'));
      await expect(endless.next()).rejects.toThrow('enough');
      provider.answer = (_call, answer) =>
        void answer
          .writeHead(400, { 'content-type': 'application/json' })
          .end('{"error": {"message": "No."}}');
      await expect(client.api.createChatCompletion({ body: request })).rejects.toMatchObject({ status: 400 });
    } finally {
      await provider.close();
    }
  });
});

describe('events', () => {
  it('parses events that arrive in pieces, with any line ends', async () => {
    const text =
      'event: a\r\ndata: {"x":\r\ndata: 1}\r\n\r\n: comment\n\nid: 7\ndata: plain\n\ndata: ü\r\rdata: [DONE]\n\ndata: late\n\n';
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 3, bytes.length]) {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.subarray(at, at + size));
          controller.close();
        },
      });
      const seen: unknown[] = [];
      for await (const event of events(new Response(body))) seen.push(event);
      expect(seen).toEqual([
        { event: 'a', data: { x: 1 } },
        { event: 'message', data: 'plain', id: '7' },
        { event: 'message', data: 'ü', id: '7' },
      ]);
    }
  });

  it('says that a stream ended early', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new TypeError('terminated'));
      },
    });
    const reading = lines(new Response(body)).next();
    await expect(reading).rejects.toMatchObject({
      name: 'ConnectionError',
      message: 'The response ended early',
    });
  });
});
