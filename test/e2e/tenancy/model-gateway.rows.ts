import type { Ids } from './population';
import { filteredBy, inWorkspace, NOTHING, ofWorkspace, OWN, type Row } from './row.fixture';

/** Returns the id and the name of the tenant's model. */
const modelsOf = ({ model_id, marker }: Ids): string[] => [model_id!, `${marker}-model`];

/** Returns calls to the tenant's model, by its id and by its name, plain and streamed. */
const calls =
  (body: object): NonNullable<Row['bodies']> =>
  (theirs) =>
    modelsOf(theirs).flatMap((model) => [
      { ...body, model },
      { ...body, model, stream: true },
    ]);

const target = ({ provider_id }: Ids): object => ({ provider_id, upstream_model: 'x' });

/** Providers, models, keys, budgets and usage of the model gateway, and model calls. */
export const MODEL_GATEWAY_ROWS: Readonly<Record<string, Row>> = {
  'POST /model/v1/providers': { bodies: inWorkspace({ name: 'x', kind: 'openai' }) },
  'GET /model/v1/providers': {
    queries: (theirs) => [...ofWorkspace()(theirs), `name=${theirs.marker} provider`, 'kind=openai'],
  },
  'GET /model/v1/providers/{provider_id}': NOTHING,
  'PATCH /model/v1/providers/{provider_id}': { bodies: () => [{ base_url: 'https://x.example.com' }] },
  'POST /model/v1/providers/{provider_id}/archive': NOTHING,
  'POST /model/v1/providers/{provider_id}/restore': NOTHING,
  'DELETE /model/v1/providers/{provider_id}': NOTHING,

  'POST /model/v1/models': {
    bodies: (theirs, own) => [
      { workspace_id: theirs.workspace_id, name: 'x', targets: [target(own)] },
      { workspace_id: theirs.workspace_id, name: 'x', targets: [target(theirs)] },
      { workspace_id: own.workspace_id, name: 'x', targets: [target(theirs)] },
    ],
  },
  'GET /model/v1/models': {
    queries: (theirs) => [...ofWorkspace('provider_id')(theirs), `name=${theirs.marker}-model`],
  },
  'GET /model/v1/models/{model_id}': NOTHING,
  'PATCH /model/v1/models/{model_id}': {
    bodies: (_, own) => [{ description: 'taken over' }, { targets: [target(own)] }],
  },
  'POST /model/v1/models/{model_id}/archive': NOTHING,
  'POST /model/v1/models/{model_id}/restore': NOTHING,
  'DELETE /model/v1/models/{model_id}': NOTHING,

  'POST /model/v1/keys': {
    bodies: (theirs, own) => [
      { workspace_id: theirs.workspace_id, name: 'x' },
      ...modelsOf(theirs).map((model) => ({ workspace_id: own.workspace_id, name: 'x', models: [model] })),
    ],
  },
  'GET /model/v1/keys': {
    queries: (theirs) => [...filteredBy('workspace_id')(theirs), `name=${theirs.marker} gateway key`],
  },
  'GET /model/v1/keys/current': OWN,
  'GET /model/v1/keys/{key_id}': NOTHING,
  'PATCH /model/v1/keys/{key_id}': { bodies: () => [{ monthly_budget_usd: 1_000 }, { models: null }] },
  'POST /model/v1/keys/{key_id}/revoke': NOTHING,
  'DELETE /model/v1/keys/{key_id}': NOTHING,

  'GET /model/v1/budgets/{workspace_id}': NOTHING,
  'PUT /model/v1/budgets/{workspace_id}': { bodies: () => [{ monthly_budget_usd: 1_000 }] },
  'GET /model/v1/usage': {
    queries: (theirs) => [
      ...filteredBy('workspace_id', 'model_id')(theirs),
      'group_by=day,workspace,model,principal,provider',
      `group_by=principal&workspace_id=${theirs.workspace_id}`,
      'since=2020-01-01',
    ],
  },

  'POST /model/v1/chat/completions': { bodies: calls({ messages: [{ role: 'user', content: 'x' }] }) },
  'POST /model/v1/responses': { bodies: calls({ input: 'x' }) },
  'POST /model/v1/embeddings': { bodies: calls({ input: 'x' }) },
  'POST /model/v1/messages/count_tokens': {
    bodies: calls({ messages: [{ role: 'user', content: 'x' }] }),
  },
  'POST /model/v1/messages': {
    bodies: calls({ messages: [{ role: 'user', content: 'x' }], max_tokens: 1 }),
  },
};
