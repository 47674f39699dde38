import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';
import { created, GatewayFixture, MODELS } from './gateway.fixture';
import { FakeProvider, json, newModel, newProvider } from './provider.fixture';

const HEADER = 'X-Service-Workspace-Id';
const messages = [{ role: 'user', content: 'Hi' }];
const ASSISTANT = { model: 'assistant', messages, input: 'Hi', max_tokens: 5 };
const ELSEWHERE = { ...ASSISTANT, model: 'elsewhere' };

/** Whatever a model of another workspace is called, prompts reach only the provider of the workspace that is meant. */
describe('the name of a model', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let org: TestOrganization;
  let on: GatewayFixture;
  let editor: ApiClient;
  /** Two workspaces with a model of the same name. The second one has another one too. */
  let workspaces: [string, string];
  let ids: [string, string];
  let providers: [FakeProvider, FakeProvider];
  let elsewhereId: string;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
    ({ org, editor } = on);
    workspaces = [org.workspaceId, await org.newWorkspace()];
    providers = [await FakeProvider.listen(), await FakeProvider.listen()];
    const made: string[] = [];
    for (const [index, provider] of providers.entries()) {
      const workspace = workspaces[index]!;
      provider.answer = (_call, response) =>
        json(response, {
          ...{ choices: [{ message: { content: 'Hi' } }], output: [], status: 'completed' },
          ...{ data: [{ embedding: [1] }], usage: { prompt_tokens: 1, completion_tokens: 1 } },
        });
      const targets = [
        { provider_id: await newProvider(on.admin, workspace, provider), upstream_model: 'u' },
      ];
      made.push(await newModel(on.admin, workspace, { name: 'assistant', targets }));
      if (index === 1) elsewhereId = await newModel(on.admin, workspace, { name: 'elsewhere', targets });
    }
    ids = made as [string, string];
  });
  afterAll(() => Promise.all(providers.map((provider) => provider.close())));

  /** Sends a request. @returns the status, and how many requests each provider has received */
  async function call(
    by: ApiClient,
    body: object,
    workspace?: string,
    path = 'chat/completions',
  ): Promise<[status: number, ...received: number[]]> {
    const before = providers.map(({ calls }) => calls.length);
    const headers: Record<string, string> = workspace === undefined ? {} : { [HEADER]: workspace };
    const { status } = await by.post(`/model/v1/${path}`, body, headers);
    return [status, ...providers.map(({ calls }, index) => calls.length - before[index]!)];
  }

  it.each(['chat/completions', 'responses', 'embeddings', 'messages'])(
    'is looked up in the workspace of the header by %s',
    async (path) => {
      expect(await call(editor, ASSISTANT, workspaces[0], path)).toEqual([200, 1, 0]);
      expect(await call(editor, ASSISTANT, workspaces[1], path)).toEqual([200, 0, 1]);
      expect(await call(editor, ELSEWHERE, workspaces[0], path)).toEqual([404, 0, 0]);
      expect(await call(editor, { ...ELSEWHERE, model: elsewhereId }, workspaces[0], path)).toEqual([
        200, 0, 1,
      ]);
    },
  );

  it('is looked up in the workspace of the header when tokens are counted or a model is read', async () => {
    const count = { model: 'assistant', messages };
    expect((await call(editor, count, undefined, 'messages/count_tokens'))[0]).toBe(400);
    expect((await call(editor, count, workspaces[1], 'messages/count_tokens'))[0]).toBe(200);
    const read = async (name: string, by: ApiClient): Promise<unknown> => {
      const { status, body } = await by.get(`${MODELS}/${name}`);
      return status === 200 ? body.model_id : status;
    };
    for (const index of [0, 1])
      expect(await read('assistant', editor.in(workspaces[index]!))).toBe(ids[index]);
    expect(await read('elsewhere', editor.in(workspaces[0]))).toBe(404);
    expect(await read(elsewhereId, editor.in(workspaces[0]))).toBe(elsewhereId);
    expect(await read('assistant', editor)).toBe(400);
    expect(await read('elsewhere', editor)).toBe(elsewhereId);
  });

  it('must be unique without a header, and otherwise shows the ids, their workspaces and the header', async () => {
    expect(await call(editor, ELSEWHERE)).toEqual([200, 0, 1]);
    const { status, body } = await editor.post('/model/v1/chat/completions', ASSISTANT);
    expect([status, body.errors[0].pointer]).toEqual([400, '/model']);
    for (const text of [...ids, ...workspaces, HEADER]) expect(body.errors[0].detail).toContain(text);
    for (const [index, model] of ids.entries()) {
      expect(await call(editor, { ...ASSISTANT, model })).toEqual([200, 1 - index, index]);
    }
  });

  it('is unique for callers of one workspace, who cannot name another one', async () => {
    const member = await on.memberOf(workspaces[1], 'runtime');
    expect(await call(member, ASSISTANT)).toEqual([200, 0, 1]);
    expect(await call(member, ASSISTANT, workspaces[0])).toEqual([403, 0, 0]);
    expect(await call(member, ASSISTANT, workspaces.join(', '))).toEqual([400, 0, 0]);
    expect(await call(member, ASSISTANT, (await newOrganization(app)).workspaceId)).toEqual([403, 0, 0]);
  });

  it('is looked up in the workspace of a gateway key, although its account has roles elsewhere', async () => {
    const { body } = created(await on.key());
    const account = `/registry/v1/service-accounts/${body.service_account_id}`;
    const key = app.api(body.key as string);
    expect(await call(key, ASSISTANT)).toEqual([200, 1, 0]);
    const owner = await org.member('owner');
    expect((await owner.patch(account, { workspace_ids: workspaces })).status).toBe(200);
    expect(await call(key, ASSISTANT)).toEqual([200, 1, 0]);
    expect(await call(key, ELSEWHERE)).toEqual([404, 0, 0]);
    expect((await key.get(`${MODELS}/assistant`)).body.model_id).toBe(ids[0]);
    expect(await call(key, ELSEWHERE, workspaces[1])).toEqual([200, 0, 1]);
  });

  it('does not fall back to a model of another workspace once its own is archived', async () => {
    const [here, there] = [await org.newWorkspace(), await org.newWorkspace()];
    const provider_id = await newProvider(on.admin, there, providers[1]);
    const own = await newProvider(on.admin, here, providers[0]);
    const model = await newModel(on.admin, here, {
      name: 'moved',
      targets: [{ provider_id: own, upstream_model: 'u' }],
    });
    await newModel(on.admin, there, { name: 'moved', targets: [{ provider_id, upstream_model: 'u' }] });
    const body = { ...ASSISTANT, model: 'moved' };
    expect(await call(editor, body, here)).toEqual([200, 1, 0]);
    expect((await on.admin.post(`${MODELS}/${model}/archive`)).status).toBe(200);
    expect(await call(editor, body, here)).toEqual([404, 0, 0]);
    expect(await call(editor, body)).toEqual([200, 0, 1]);
  });

  it('is not taken by a model of an archived workspace', async () => {
    const archived = await org.newWorkspace();
    for (const [index, workspace] of [workspaces[0], archived].entries()) {
      const provider_id = await newProvider(on.admin, workspace, providers[index]!);
      await newModel(on.admin, workspace, { name: 'kept', targets: [{ provider_id, upstream_model: 'u' }] });
    }
    const owner = await org.member('owner');
    expect((await owner.post(`/registry/v1/workspaces/${archived}/archive`)).status).toBe(200);
    const body = { ...ASSISTANT, model: 'kept' };
    expect(await call(editor, body)).toEqual([200, 1, 0]);
    expect(await call(editor, body, archived)).toEqual([409, 0, 0]);
  });
});
