import type { MetricPointDto } from './metric.dto';
import type { MetricPointRow } from './metric-list.repository';

export const toMetricPointDto = (row: MetricPointRow): MetricPointDto => ({
  name: row.name,
  description: row.description,
  unit: row.unit,
  type: row.type,
  temporality: row.temporality,
  is_monotonic: row.is_monotonic,
  measured_at: row.measured_at,
  started_at: row.started_at,
  value: row.value,
  service_name: row.service_name,
  attributes: row.attributes,
  exemplars: row.exemplars,
  metadata: row.metadata,
  flags: row.flags,
  resource: row.resource,
  scope: row.scope,
});
