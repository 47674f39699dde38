import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { LoadingCache } from '#platform/concurrency';
import { CachedDocument } from '#platform/http';
import { llmsTextOf } from './llms';
import { documentOf } from './one-operation';
import type { Document } from './operation';
import { withPathParameters } from './path-parameters';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Maximum number of cached documents. Those with one operation have about 50 KB. */
const CACHED_MAX = 100;

/** Builds the document on first use, because building takes longer than the rest of the start. */
@Injectable()
export class OpenApiSource {
  private build: (() => OpenAPIObject) | null = null;
  private built: OpenAPIObject | null = null;
  private readonly served = new LoadingCache<CachedDocument>({ max: CACHED_MAX, lifetimeMs: Infinity });

  /** Sets the function that builds the document. Called once the application exists. */
  provide(build: () => OpenAPIObject): void {
    this.build = build;
  }

  document(): OpenAPIObject {
    if (!this.build) throw new Error('OpenApiSource.provide has not been called.');
    return (this.built ??= this.build());
  }

  /** Returns the whole document in the form in which it is served. */
  servedDocument(): object {
    return withPathParameters(this.parts());
  }

  /** Returns the document as it is served, or only one operation of it. Throws 404 for an unknown operation. */
  async cachedDocument(operationId = ''): Promise<CachedDocument> {
    return this.served.find(`/openapi.json?${operationId}`, async () => {
      const document = operationId === '' ? this.servedDocument() : documentOf(this.parts(), operationId);
      return CachedDocument.of(JSON.stringify(document), JSON_TYPE);
    });
  }

  /** Returns the list of operations for language models. */
  async cachedText(): Promise<CachedDocument> {
    return this.served.find('/llms.txt', async () =>
      CachedDocument.of(llmsTextOf(this.parts()), 'text/plain; charset=utf-8'),
    );
  }

  private parts(): Document {
    return this.document() as unknown as Document;
  }
}
