import { jsonExport, newOrganization, newSpan, protobufExport, sharedApp } from '#testing';
import { answered, JSON_MEDIA, PROTOBUF, RawExporter, TRACES } from './otlp.harness';
import { SIGNALS } from './signals.harness';

const { logs, metrics } = SIGNALS;
const BODIES = {
  traces: { path: TRACES, json: jsonExport([newSpan()]), protobuf: protobufExport([newSpan()]) },
  logs: { path: logs.path, json: logs.json([{ text: 'a' }]), protobuf: logs.protobuf([{ text: 'a' }]) },
  metrics: {
    path: metrics.path,
    json: metrics.json([{ text: 'a' }]),
    protobuf: metrics.protobuf([{ text: 'a' }]),
  },
};

describe('an export to the path of another signal', () => {
  const app = sharedApp();

  it('gets 400 with the right path in its own encoding, and stores nothing', async () => {
    const org = await newOrganization(app);
    const exporter = new RawExporter(app.url, await org.token('runtime'), org.workspaceId);
    for (const sent of Object.values(BODIES)) {
      for (const { path } of Object.values(BODIES).filter((one) => one !== sent)) {
        const advice = `Send it to ${sent.path}, not to ${path}.`;
        const inJson = await exporter.send(sent.json, { media: JSON_MEDIA, path });
        expect([inJson.status, answered.json(inJson)]).toMatchObject([
          400,
          { code: 'invalid_request', detail: expect.stringContaining(advice) },
        ]);
        const inProtobuf = await exporter.send(sent.protobuf, { media: PROTOBUF, path });
        expect([inProtobuf.status, answered.status(inProtobuf).message]).toEqual([
          400,
          expect.stringContaining(advice),
        ]);
      }
    }
    const reader = await org.as('viewer');
    for (const { path } of Object.values(BODIES)) {
      expect((await reader.get(`${path}?total=true`)).body.items).toEqual([]);
    }
  });

  it('gets a warning if its JSON has only unknown members', async () => {
    const org = await newOrganization(app);
    const exporter = new RawExporter(app.url, await org.token('runtime'), org.workspaceId);
    const answer = await exporter.send(Buffer.from('{"spans": []}'), { media: JSON_MEDIA });
    expect([answer.status, answered.json(answer)]).toEqual([
      200,
      {
        partialSuccess: {
          rejectedSpans: '0',
          errorMessage: 'The request has no resourceSpans, so nothing was stored.',
        },
      },
    ]);
  });
});
