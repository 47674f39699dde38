import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import type { CalledProvider } from '../models/model-directory';
import { type CallFormat, WIRE_PATHS } from './call.types';

/** A model of the operator's configuration, which may have a private address. Tenants see neither it nor its calls. */
export interface InstalledModel {
  provider: CalledProvider;
  /** Null for a classifier, which has an API of its own at its base URL. */
  format: CallFormat | null;
}

/** The models that the operator configured in the environment. Undefined if they are not. */
@Injectable()
export class InstalledModels {
  readonly judge: InstalledModel | undefined;
  readonly classifier: InstalledModel | undefined;
  readonly embeddings: InstalledModel | undefined;

  constructor(environment: Environment) {
    const { JUDGE_BASE_URL, JUDGE_API_KEY, CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY } = environment;
    const { EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY } = environment;
    this.judge = installed('judge', 'chat', JUDGE_BASE_URL, JUDGE_API_KEY);
    this.classifier = installed('classifier', null, CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY);
    this.embeddings = installed('embeddings', 'embeddings', EMBEDDINGS_BASE_URL, EMBEDDINGS_API_KEY);
  }
}

/** Splits a URL as OpenAI's clients do: it may already end with the path of requests, and keeps its query string. */
function installed(
  name: string,
  format: CallFormat | null,
  baseUrl: string | undefined,
  apiKey: string | undefined,
): InstalledModel | undefined {
  if (baseUrl === undefined) return undefined;
  const base = new URL(baseUrl);
  base.username = base.password = '';
  if (format !== null) base.pathname = base.pathname.replace(new RegExp(`(${WIRE_PATHS[format]})?/*$`), '');
  const provider: CalledProvider = {
    provider_id: '',
    name,
    kind: 'openai',
    is_archived: false,
    generation: 0,
    isTrusted: true,
    base,
    origin: base.origin,
    path: format === null ? base.pathname : base.pathname.replace(/\/$/, ''),
    query: base.search,
    headers: {},
    apiKey: () => apiKey ?? null,
  };
  return { provider, format };
}
