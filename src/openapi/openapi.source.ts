import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { RawJson } from '#platform/json';

/** Builds the document on first use, because building takes longer than the rest of the start. */
@Injectable()
export class OpenApiSource {
  private build: (() => OpenAPIObject) | null = null;
  private built: { document: OpenAPIObject; text: RawJson } | null = null;

  /** Sets the function that builds the document. Called once the application exists. */
  provide(build: () => OpenAPIObject): void {
    this.build = build;
  }

  document(): OpenAPIObject {
    return this.load().document;
  }

  text(): RawJson {
    return this.load().text;
  }

  private load(): { document: OpenAPIObject; text: RawJson } {
    if (!this.build) throw new Error('OpenApiSource.provide has not been called.');
    this.built ??= wrap(this.build());
    return this.built;
  }
}

const wrap = (document: OpenAPIObject) => ({ document, text: new RawJson(JSON.stringify(document)) });
