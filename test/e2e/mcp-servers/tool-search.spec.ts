import { sharedApp } from '#testing';
import { names } from '../registry/search.fixture';
import { ServersFixture } from './servers.fixture';

describe('a search for tools', () => {
  const app = sharedApp();
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });

  const TOOL = {
    name: 'lookup_order',
    title: 'Trace a shipment',
    description: 'Tells where a parcel is.',
    input_schema: {
      type: 'object',
      properties: {
        postal_code: { type: 'string', description: 'The consignee’s ZIP' },
        filters: {
          type: 'object',
          properties: { carrierName: { anyOf: [{ description: 'Such as a courier' }, { type: 'null' }] } },
        },
      },
    },
  };
  const matches = (query: string) => names(on.editor, { query, mode: 'keyword', types: ['tool'] });

  it('finds tools by name, title, description, and names and descriptions of parameters', async () => {
    const server = (await on.register({ tools: [TOOL, { name: 'other', input_schema: {} }] })).headers.get(
      'location',
    )!;
    const words = ['lookup', 'shipment', 'parcel', 'postal', 'consignee', 'carrierName', 'courier'];
    for (const word of words) expect([word, await matches(word)]).toEqual([word, ['lookup_order']]);

    await on.admin.post(`${server}/archive`);
    expect(await matches('consignee')).toEqual([]);
    await on.admin.post(`${server}/restore`);
    for (const word of words) expect([word, await matches(word)]).toEqual([word, ['lookup_order']]);

    const renamed = { properties: { city: { description: 'A town' } } };
    await on.editor.patch(server, { tools: [{ ...TOOL, input_schema: renamed }] });
    expect([await matches('town'), await matches('consignee')]).toEqual([['lookup_order'], []]);
  });

  it('finds tools by meaning', async () => {
    await on.register({
      tools: [{ name: 'q7', input_schema: { properties: { latitude: { description: 'Degrees north' } } } }],
    });
    const items = await names(on.editor, {
      query: 'latitude degrees',
      mode: 'vector',
      types: ['tool'],
      limit: 1,
    });
    expect(items).toEqual(['q7']);
  });

  it.each([
    [
      'many parameters',
      { properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, {}])) },
    ],
    ['malformed properties', { properties: [1], description: 7 }],
    [
      'parameters named like members of objects',
      JSON.parse('{"properties": {"__proto__": {"description": "x"}}}'),
    ],
  ])('finds a tool with %s', async (_, input_schema) => {
    const answer = await on.register({ tools: [{ name: 'odd', input_schema }] });
    expect(answer.status).toBe(201);
    expect(await matches('odd')).toContain('odd');
  });
});
