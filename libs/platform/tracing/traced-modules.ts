import type { IncomingMessage, RequestOptions, ServerResponse } from 'node:http';
import type { Attributes, Span } from '@opentelemetry/api';
import type { Instrumentation } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';

/**
 * Requests that are not traced, nor anything that is done for them: those that bring traces, among which the service's
 * own may be, also where they are sent to a path that there is not, and those of probes and scrapers, which come every few
 * seconds.
 */
const UNTRACED_PATHS = /^\/(?:telemetry|health|metrics)(?:[/?]|$)|\/v1\/(?:traces|logs|metrics)\/?(?:\?|$)/i;

/**
 * What of a request is not told: the query, which may hold what is searched for or, of a judge's address, its key, and
 * the one header that would be told as it came.
 */
const UNTOLD: Attributes = { 'url.query': undefined, 'user_agent.original': undefined };

/**
 * What is traced of the modules that the service uses: requests that come in and go out, and statements, which are
 * told without their parameters. Only what happens for a request or a job is; what the service does by itself, such as
 * looking for work, would be a trace each second.
 */
export const tracedModules = (): Instrumentation[] => [
  new HttpInstrumentation({
    ignoreIncomingRequestHook: ({ url = '' }) => UNTRACED_PATHS.test(url),
    startIncomingSpanHook: () => UNTOLD,
    startOutgoingSpanHook: (request) => ({ ...UNTOLD, 'url.full': addressOf(request) }),
    requireParentforOutgoingSpans: true,
    applyCustomAttributesOnSpan: (span, request, response) => {
      if ('route' in request) tellAnswer(span, request as RoutedRequest, response as ServerResponse);
    },
  }),
  // connections outlive the request for which they were made
  new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true }),
  new UndiciInstrumentation({
    requireParentforSpans: true,
    startSpanHook: ({ origin, path }) => ({ ...UNTOLD, 'url.full': withoutSecrets(`${origin}${path}`) }),
  }),
];

/** A request for which Express has found a route. */
type RoutedRequest = IncomingMessage & { route?: { path?: string } };

/** A span is named by its route, in the form of the OpenAPI document: `GET /eval/v1/datasets/{dataset_id}`. */
function tellAnswer(span: Span, request: RoutedRequest, response: ServerResponse): void {
  const route = request.route?.path?.replaceAll(/:(\w+)/g, '{$1}');
  if (route !== undefined) {
    span.updateName(`${request.method} ${route}`);
    span.setAttribute('http.route', route);
  }
  if (!response.writableFinished) span.setAttribute('error.type', 'aborted');
  else if (response.statusCode >= 500) span.setAttribute('error.type', String(response.statusCode));
}

function addressOf({ protocol, hostname, host, port, path }: RequestOptions): string | undefined {
  const authority = hostname ?? host ?? 'localhost';
  return withoutSecrets(`${protocol ?? 'http:'}//${authority}${port ? `:${port}` : ''}${path ?? '/'}`);
}

/** An address without credentials, query and fragment. */
function withoutSecrets(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname}`;
}
