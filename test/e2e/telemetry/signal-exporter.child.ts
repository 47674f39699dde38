/**
 * A program that is instrumented with OpenTelemetry, like a user's. It records logs and metrics, exports them and ends. It
 * runs in a separate process, because the exporters load their transport with a dynamic import, which Jest does not support.
 *
 * Arguments: `proto` or `http` (JSON); and the configurations of the exporters of `logs` and `metrics` as JSON. If it is empty,
 * the environment applies.
 */
import { ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter as JsonLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as JsonMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';

const IDS = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

const resource = resourceFromAttributes({ 'service.name': 'shop' });

async function exportLogs(kind: string, config: object | undefined): Promise<void> {
  const Exporter = kind === 'proto' ? ProtobufLogExporter : JsonLogExporter;
  const exporter = config ? new Exporter(config) : new Exporter();
  const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger('agent', '1.2.3');
  const timestamp = Date.UTC(2026, 10, 20);
  logger.emit({
    timestamp,
    observedTimestamp: timestamp + 5,
    severityNumber: SeverityNumber.ERROR,
    severityText: 'ERROR',
    eventName: 'tool.failed',
    body: { text: 'no such city', tries: 3 },
    attributes: { 'tool.name': 'weather' },
    context: trace.setSpanContext(ROOT_CONTEXT, { ...IDS, traceFlags: TraceFlags.SAMPLED }),
  });
  logger.emit({ timestamp: timestamp + 10, severityNumber: SeverityNumber.INFO, body: 'done' });
  await provider.shutdown();
}

async function exportMetrics(kind: string, config: object | undefined): Promise<void> {
  const Exporter = kind === 'proto' ? ProtobufMetricExporter : JsonMetricExporter;
  const exporter = config ? new Exporter(config) : new Exporter();
  const provider = new MeterProvider({
    resource,
    readers: [new PeriodicExportingMetricReader({ exporter })],
  });
  const meter = provider.getMeter('agent', '1.2.3');
  meter.createCounter('calls', { unit: '{call}' }).add(3, { model: 'gpt-4o' });
  meter.createHistogram('duration', { advice: { explicitBucketBoundaries: [1, 5] } }).record(2);
  meter.createGauge('temperature').record(21.5);
  await provider.shutdown();
}

const [kind, text] = process.argv.slice(2);
const config = (text ? JSON.parse(text) : {}) as { logs?: object; metrics?: object };
void Promise.all([exportLogs(kind!, config.logs), exportMetrics(kind!, config.metrics)]);
