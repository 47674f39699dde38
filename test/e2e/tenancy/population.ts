import { type Answer, type ApiClient, jsonExport, newSpan, newTraceId } from '#testing';

/** An id of each kind by its name in paths, or by `/area/name` if areas differ. */
export type Ids = Readonly<Record<string, string>>;

const JSON_LOG = (text: string) => ({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: text } }] }] }],
});
const JSON_METRIC = (name: string) => ({
  resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name, gauge: { dataPoints: [{ asInt: 1 }] } }] }] }],
});

/**
 * Creates one resource of each kind in a workspace, as its owner over HTTP. Every text contains the marker, so that a test
 * recognizes it in a response.
 */
export async function populate(owner: ApiClient, workspace_id: string, marker: string): Promise<Ids> {
  const versions = {
    version: '1',
    version_ordinal: '1',
    version_from: '1',
    version_to: '1',
    version_name: 'latest',
    label: `${marker}-label`,
    // a path below the base URL of a registered API
    path: 'orders',
  };
  const ids: Record<string, string> = { workspace_id, ...versions, marker };
  const of = { workspace_id };
  const by = owner.in(workspace_id);
  const text = (noun: string): string => `${marker} ${noun}`;

  const expectStatus = ({ status, body }: Answer, path: string, ...statuses: number[]): void => {
    if (!statuses.includes(status)) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  };
  const create = async (path: string, body: unknown, ...members: string[]): Promise<any> => {
    const answer = await by.post(path, body);
    expectStatus(answer, path, 200, 201, 202);
    for (const member of members) ids[member] = answer.body[member] as string;
    return answer.body;
  };

  const user_id = `${marker}-person`;
  await create('/registry/v1/users', { user_id, display_name: text('person') });
  const account = { name: text('account'), roles: ['viewer'], workspace_ids: [workspace_id] };
  await create('/registry/v1/service-accounts', account, 'service_account_id');
  await create(
    `/registry/v1/service-accounts/${ids.service_account_id}/keys`,
    { name: text('key') },
    'key_id',
  );
  await create('/registry/v1/org/signing-keys', { name: text('signing key') }, 'kid');
  await create(`/registry/v1/org/signing-keys/${ids.kid}/revoke`, undefined);
  await by.put(`/registry/v1/workspaces/${workspace_id}/members/${user_id}`, { roles: ['viewer'] });
  Object.assign(ids, { user_id, principal_id: user_id });

  await create('/registry/v1/repos', { ...of, url: `https://git.example.com/${marker}/repo` }, 'repo_id');
  const file = new URLSearchParams({ ...of, name: text('file'), metadata: `{"${marker}": true}` });
  await create(`/file/v1/files?${file.toString()}`, Buffer.from(text('bytes')), 'file_id');
  const skill = { ...of, name: `${marker}-skill`, description: text('skill'), instructions: text('how') };
  await create('/skill/v1/skills', skill, 'skill_id');
  await by.put(`/skill/v1/skills/${ids.skill_id}/labels/${ids.label}`, { version_ordinal: 1 });
  const tools = [{ name: `${marker}_tool`, description: text('tool'), input_schema: { type: 'object' } }];
  const server = { ...of, name: text('server'), url: `https://${marker}.invalid/mcp`, tools };
  await create('/mcp/v1/servers', server, 'server_id');
  // fails because the host does not exist, and records a check
  await create(`/mcp/v1/servers/${ids.server_id}/test`, undefined);
  const toolList = await by.get(`/mcp/v1/servers/${ids.server_id}/tools`);
  ids.tool_id = toolList.body.items[0].tool_id as string;
  const registry = await by.get(`/mcp/v1/registry/v0.1/servers?workspace_id=${workspace_id}`);
  ids.server_name = registry.body.servers[0].server.name as string;
  const api = { ...of, name: text('api'), base_url: `https://${marker}.invalid/api` };
  await create(
    '/registry/v1/apis',
    { ...api, auth: { type: 'bearer', value: `${marker}-secret` } },
    'api_id',
  );
  await populateGateway();
  const agent = {
    ...of,
    name: text('agent'),
    instructions: text('be good'),
    tools: [{ server_id: ids.server_id, tool_name: `${marker}_tool` }],
    skills: [{ skill_id: ids.skill_id }],
  };
  await create('/agent/v1/agents', agent, 'agent_id');
  await by.put(`/agent/v1/agents/${ids.agent_id}/labels/${ids.label}`, { version_ordinal: 1 });
  await create(`/agent/v1/agents/${ids.agent_id}/sessions`, { prompt: text('prompt') }, 'session_id');
  const message = { role: 'assistant', content: text('answer') };
  await create(`/agent/v1/sessions/${ids.session_id}/messages`, message, 'message_id');
  const app = { ...of, app: `${marker}-app`, display_name: text('app'), resources: [] };
  await create('/registry/v1/apps', app, 'app');

  const subject = { kind: 'end_user', id: `${marker}-visitor` };
  await create('/registry/v1/erasures', { subject, workspace_id, dry_run: true }, 'erasure_id');

  ids.trace_id = newTraceId();
  const attributes = { 'session.id': ids.session_id!, 'gen_ai.request.model': `${marker}-model` };
  const span = newSpan({ traceId: ids.trace_id, name: text('span'), attributes });
  await create('/telemetry/v1/traces', jsonExport([span], { 'service.name': text('service') }));
  await create('/telemetry/v1/logs', JSON_LOG(text('log')));
  await create('/telemetry/v1/metrics', JSON_METRIC(`${marker}.metric`));

  await create('/eval/v1/datasets', { ...of, name: text('dataset') }, 'dataset_id');
  const dataset = `/eval/v1/datasets/${ids.dataset_id}`;
  await create(`${dataset}/records`, { ...of, input: text('input') }, 'dataset_record_id');
  await create(`${dataset}/versions`, { ...of, content: `question\n${text('row')}\n` });
  const experiment = { ...of, name: text('experiment'), config: { marker } };
  await create('/eval/v1/experiments', experiment, 'experiment_id');
  const result = { ...of, case_id: text('case'), trace_id: ids.trace_id, scores: { [marker]: 1 } };
  await create(`/eval/v1/experiments/${ids.experiment_id}/results`, result, 'result_id');
  const rules = [{ scorer: marker, min_mean: 0 }];
  await create(`/eval/v1/experiments/${ids.experiment_id}/gate`, { rules });
  const human = {
    ...of,
    name: text('scorer'),
    scorer_kind: 'human',
    definition: { rubric: text('rubric'), output: { type: 'boolean' } },
  };
  const { scorer_id } = await create('/eval/v1/scorers', human);
  ids.human_scorer_id = scorer_id as string;
  await create('/eval/v1/scores', { ...of, scorer_id, result_id: ids.result_id, score: true }, 'score_id');
  const code = {
    ...of,
    name: text('code'),
    scorer_kind: 'code',
    definition: { checks: [{ type: 'equals' }] },
  };
  await create('/eval/v1/scorers', code, 'scorer_id');
  const scorer = `/eval/v1/scorers/${ids.scorer_id}`;
  await create(`${scorer}/rules`, { ...of, sample_rate: 0.5, enabled: false }, 'rule_id');
  await create(`${scorer}/score`, { trace_ids: [ids.trace_id] }, 'score_run_id');
  await create(`${scorer}/batches`, { trace_ids: [ids.trace_id] }, 'score_batch_id');
  const queue = { ...of, name: text('queue'), scorer_ids: [scorer_id], scores_per_item: 2 };
  const source = { experiment_id: ids.experiment_id };
  await create('/eval/v1/annotation-queues', { ...queue, source }, 'queue_id');
  const queuePath = `/eval/v1/annotation-queues/${ids.queue_id}`;
  const { body: next } = await by.post(`${queuePath}/next`, {});
  ids.item_id = next.item.item_id as string;
  const skip = { reason: text('reason') };
  expectStatus(await by.post(`${queuePath}/items/${ids.item_id}/skip`, skip), queuePath, 200);

  const { skill_id: artifact_id } = await create('/skill/v1/skills', {
    ...skill,
    name: `${marker}-published`,
  });
  const item = {
    ...of,
    ...{
      artifact: { kind: 'skill', artifact_id },
      name: text('item'),
      tagline: text('tagline'),
    },
    ...{ category: 'skills', license: 'MIT', actions: ['install', 'download'], topics: [text('topic')] },
  };
  await create('/store/v1/publisher/items', item, 'store_item_id');
  const policy = { audience: { is_public: false }, is_listed: true, can_acquire: true };
  await by.put(`/store/v1/publisher/items/${ids.store_item_id}/policy`, policy);
  // the name must be free for the copy
  await create(`/skill/v1/skills/${artifact_id}/archive`, undefined);
  await create(`/store/v1/items/${ids.store_item_id}/acquire`, of, 'acquisition_id');
  return ids;

  /** Adds a provider, a model, a key, a budget and usage. */
  async function populateGateway(): Promise<void> {
    const provider = { name: text('provider'), kind: 'openai', base_url: `https://${marker}.invalid/v1` };
    await create('/model/v1/providers', { ...of, ...provider }, 'provider_id');
    const price = { input_usd_per_million: 1, output_usd_per_million: 1 };
    const targets = [{ provider_id: ids.provider_id, upstream_model: `${marker}-upstream`, price }];
    await create('/model/v1/models', { ...of, name: `${marker}-model`, targets, retries: 0 }, 'model_id');
    const key = { ...of, name: text('gateway key'), models: [ids.model_id] };
    ids['/model/key_id'] = (await create('/model/v1/keys', key)).key_id as string;
    const budget = `/model/v1/budgets/${workspace_id}`;
    expectStatus(await by.put(budget, { monthly_budget_usd: 5 }), budget, 200);
    // fails because the host does not exist, and is counted
    const call = { model: ids.model_id, messages: [{ role: 'user', content: text('question') }] };
    expectStatus(await by.post('/model/v1/chat/completions', call), 'the model call', 503);
  }
}

/**
 * Returns similar ids that do not exist. Keeps the marker, because it is a word, and no resource contains it yet.
 */
export const unknownIds = (ids: Ids): Ids =>
  Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [
      name,
      isNeutral(name) || name === 'marker' ? id : `${id.slice(0, -3)}${otherEnd(id)}`,
    ]),
  );

/** Returns whether a path parameter has the same values in every tenant. */
export const isNeutral = (name: string): boolean =>
  name.startsWith('version') || name === 'path' || name === 'label';

/** Returns different last characters of an id, in its alphabet. */
const otherEnd = (id: string): string => (id.endsWith('000') ? '111' : '000');
