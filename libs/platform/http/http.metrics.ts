import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import { routeOf, type ServiceRequest } from './request-context';

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Label of requests without a route, whose paths are unbounded. */
const NO_ROUTE = 'none';

interface Series {
  requests: { inc(): void };
  duration: { observe(seconds: number): void };
}

/** Counts requests by the pattern of their route, never by their path. */
@Injectable()
export class HttpMetrics {
  private readonly requests: Counter<'method' | 'route' | 'status'>;
  private readonly duration: Histogram<'method' | 'route'>;
  private readonly series = new Map<string, Series>();

  constructor(metrics: Metrics) {
    this.requests = metrics.counter('http_requests_total', 'Finished requests, by status class.', [
      'method',
      'route',
      'status',
    ]);
    this.duration = metrics.histogram(
      'http_request_duration_seconds',
      'Time from the headers of a request to the end of its response.',
      BUCKETS,
      ['method', 'route'],
    );
  }

  /** Counts a finished request. It is `aborted` if the client disconnected before the response. */
  count(request: ServiceRequest, response: ServerResponse): void {
    const { context, method } = request;
    const route = routeOf(request) ?? NO_ROUTE;
    const status = response.writableFinished ? `${Math.floor(response.statusCode / 100)}xx` : 'aborted';
    const { requests, duration } = this.seriesOf(method, route, status);
    requests.inc();
    duration.observe((performance.now() - context.startedAt) / 1000);
  }

  /** Caches the series, because finding one by its labels costs more than counting. */
  private seriesOf(method: string, route: string, status: string): Series {
    const key = `${method} ${route} ${status}`;
    let series = this.series.get(key);
    if (!series) {
      series = {
        requests: this.requests.labels({ method, route, status }),
        duration: this.duration.labels({ method, route }),
      };
      this.series.set(key, series);
    }
    return series;
  }
}
