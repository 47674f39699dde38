// openapi-fetch calls one operation of each kind with the types that openapi-typescript generated.
import createClient from 'openapi-fetch';
import type { paths } from './openapi-typescript/schema';
import { CSV, environment, found, linesOf, RECORDS, report } from './environment';

const { baseUrl, key, workspaceId } = environment;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
const header = { 'X-Service-Workspace-Id': workspaceId };

const created = await client.POST('/eval/v1/datasets', {
  params: { header },
  body: { workspace_id: workspaceId, name: 'openapi-typescript' },
});
const { dataset_id } = found(created);
const params = { header, path: { dataset_id } };
const listed = await client.GET('/eval/v1/datasets', {
  params: { header, query: { name: 'openapi-typescript' } },
});
const bulk = await client.POST('/eval/v1/datasets/{dataset_id}/records/bulk', {
  params,
  body: { workspace_id: workspaceId, items: RECORDS },
});
const version = await client.POST('/eval/v1/datasets/{dataset_id}/versions', {
  params,
  headers: { 'Content-Type': 'text/csv' },
  body: CSV,
  bodySerializer: (body) => body,
});
const file = await client.POST('/file/v1/files', {
  body: { workspace_id: workspaceId, file: '' },
  bodySerializer: () => {
    const form = new FormData();
    form.set('workspace_id', workspaceId);
    form.set('file', new File([CSV], 'openapi-typescript.csv'));
    return form;
  },
});
const exported = await client.GET('/eval/v1/datasets/{dataset_id}/records/export', {
  params,
  parseAs: 'stream',
});

report({
  created: found(created).name,
  listed: found(listed).items.map((one) => one.name),
  bulk: found(bulk).items.map((item) => ('record' in item ? item.record.external_id : item.error.code)),
  rows: found(version).row_count,
  file: found(file).name,
  lines: await linesOf(found(exported)),
});
