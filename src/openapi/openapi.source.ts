import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { CachedDocument } from '#platform/http';

/** Builds the document on first use, because building takes longer than the rest of the start. */
@Injectable()
export class OpenApiSource {
  private build: (() => OpenAPIObject) | null = null;
  private built: OpenAPIObject | null = null;
  private cached: Promise<CachedDocument> | null = null;

  /** Sets the function that builds the document. Called once the application exists. */
  provide(build: () => OpenAPIObject): void {
    this.build = build;
  }

  document(): OpenAPIObject {
    if (!this.build) throw new Error('OpenApiSource.provide has not been called.');
    return (this.built ??= this.build());
  }

  /** Returns the document in the form in which it is served. */
  cachedDocument(): Promise<CachedDocument> {
    this.cached ??= this.serve().catch((error: unknown) => {
      this.cached = null;
      throw error;
    });
    return this.cached;
  }

  private async serve(): Promise<CachedDocument> {
    return CachedDocument.of(JSON.stringify(this.document()), 'application/json; charset=utf-8');
  }
}
