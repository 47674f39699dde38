import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import type { Attributes, Span } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';

/**
 * Requests that are not traced, with all their work: exports of traces, because they may be the service's own (even to
 * paths that do not exist), and frequent requests of probes and scrapers.
 */
const UNTRACED_PATHS = /^\/(?:telemetry|health|metrics)(?:[/?]|$)|\/v1\/(?:traces|logs|metrics)\/?(?:\?|$)/i;

/**
 * Attributes to remove from request spans: the query, which may contain search terms or the API key of a judge, and the
 * only header that would be recorded verbatim.
 */
const REDACTED: Attributes = { 'url.query': undefined, 'user_agent.original': undefined };

/**
 * Returns the instrumentations: incoming and outgoing requests, and SQL statements without their parameters. Only work
 * for a request or a job is traced. The service's own polling would create a trace every second.
 */
export const tracedModules = (): Instrumentation[] => [
  new HttpInstrumentation({
    ignoreIncomingRequestHook: ({ url = '' }) => UNTRACED_PATHS.test(url),
    startIncomingSpanHook: () => REDACTED,
    startOutgoingSpanHook: (request) => ({ ...REDACTED, 'url.full': urlOf(request) }),
    requireParentforOutgoingSpans: true,
    applyCustomAttributesOnSpan: (span, request, response) => {
      if ('route' in request) describeResponse(span, request as RoutedRequest, response as ServerResponse);
    },
  }),
  // connections outlive the request that opened them
  new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true }),
  new UndiciInstrumentation({
    requireParentforSpans: true,
    startSpanHook: ({ origin, path }) => ({ ...REDACTED, 'url.full': withoutSecrets(`${origin}${path}`) }),
  }),
];

/** A request that Express has routed. */
type RoutedRequest = IncomingMessage & { route?: { path?: string } };

/** Names the span after its route, as in the OpenAPI document (`GET /eval/v1/datasets/{dataset_id}`), and marks errors. */
function describeResponse(span: Span, request: RoutedRequest, response: ServerResponse): void {
  const route = request.route?.path?.replaceAll(/:(\w+)/g, '{$1}');
  if (route !== undefined) {
    span.updateName(`${request.method} ${route}`);
    span.setAttribute('http.route', route);
  }
  if (!response.writableFinished) span.setAttribute('error.type', 'aborted');
  else if (response.statusCode >= 500) span.setAttribute('error.type', String(response.statusCode));
}

function urlOf({ protocol, hostname, host, port, path }: RequestOptions): string | undefined {
  const authority = hostname ?? host ?? 'localhost';
  return withoutSecrets(`${protocol ?? 'http:'}//${authority}${port ? `:${port}` : ''}${path ?? '/'}`);
}

/** Returns a URL without credentials, query and fragment; undefined for an invalid URL. */
function withoutSecrets(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
