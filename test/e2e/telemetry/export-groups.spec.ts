import { setTimeout as delay } from 'node:timers/promises';
import { ownApp, newOrganization, newSpanId, newTraceId } from '#testing';
import { BodyBudgets } from '#platform/http';
import { EXPORT_BUDGET } from '../../../src/telemetry/otlp-http/otlp-body.decorator';
import { LockHolder } from './lock-holder.fixture';
import { JSON_MEDIA, RawExporter } from './otlp.harness';

/** Number of parts in a small export. With 3,000 parts, it weighs 3 of the 4 MiB that a group may have. */
const PARTS = 3_000;
const EXPORTS = 6;

const parts = <Part>(part: Part): Part[] => Array<Part>(PARTS).fill(part);
/** Returns three spans with a third of the parts each, because a span keeps at most 1,024. */
const thirds = <Part>(spanOf: (some: Part[]) => object, part: Part): object[] =>
  Array.from({ length: 3 }, () => spanOf(Array<Part>(PARTS / 3).fill(part)));
const span = (more: object) => ({
  traceId: newTraceId(),
  spanId: newSpanId(),
  name: 'step',
  startTimeUnixNano: '1',
  ...more,
});
const traces = (spans: object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const logs = (logRecords: object[]) => ({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
const metrics = (more: object) => ({
  resourceMetrics: [{ scopeMetrics: [{ metrics: [{ name: 'm', ...more }] }] }],
});

/** Exports with many parts that take memory and time, but few bytes. */
const SMALL: [parts: string, path: string, table: string, body: () => object][] = [
  ['events', 'traces', 'traces', () => traces(thirds((events) => span({ events }), {}))],
  ['links', 'traces', 'traces', () => traces(thirds((links) => span({ links }), { traceId: '1'.repeat(32), spanId: '2'.repeat(16) }))],
  ['scopes', 'traces', 'traces', () => ({ resourceSpans: [{ scopeSpans: [{ spans: [span({})] }, ...parts({})] }] })],
  ['log records', 'logs', 'log_records', () => logs(parts({}))],
  ['points', 'metrics', 'metric_points', () => metrics({ gauge: { dataPoints: parts({ asInt: 1 }) } })],
  ['exemplars', 'metrics', 'metric_points', () => metrics({ gauge: { dataPoints: [{ asInt: 1, exemplars: parts({ asInt: 2 }) }] } })],
  ['quantiles', 'metrics', 'metric_points', () => metrics({ summary: { dataPoints: [{ quantileValues: parts({ quantile: 0.5 }) }] } })],
]; // oxfmt-ignore

describe('group commits', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: '4' } });
  let holder: LockHolder;

  beforeAll(async () => {
    // only one transaction at a time
    holder = await LockHolder.connect(app.databaseUrl);
  });
  afterAll(async () => {
    await holder.end();
  });

  it.each(SMALL)('have few exports if these have many %s', async (_, signal, table, bodyOf) => {
    const organization = await newOrganization(app);
    const exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    const send = (body: object) =>
      exporter.send(Buffer.from(JSON.stringify(body)), {
        media: JSON_MEDIA,
        path: `/telemetry/v1/${signal}`,
      });
    await holder.lock(table);
    const answers = [send(bodyOf())];
    await holder.until(({ statements }) => statements === 1);
    const bodies = Array.from({ length: EXPORTS }, bodyOf);
    answers.push(...bodies.map(send));
    const bytes = bodies.reduce((sum, body) => sum + JSON.stringify(body).length, 0);
    while (app.get(BodyBudgets).of(EXPORT_BUDGET).used < bytes) await delay(10);
    await holder.release();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200));
    const groups = await app.database.query(
      `SELECT DISTINCT xmin::text FROM ${table} WHERE workspace_id = $1`,
      [organization.workspaceId],
    );
    // the first export is alone, and no group has more than two
    expect(groups.length).toBeGreaterThanOrEqual(1 + EXPORTS / 2);
  });
});
