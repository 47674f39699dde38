import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { RawJson } from '#platform/json';

/** Holds the document; it is built when it is first asked for, since that takes longer than all the rest of a start. */
@Injectable()
export class OpenApiSource {
  private build: (() => OpenAPIObject) | null = null;
  private built: { document: OpenAPIObject; text: RawJson } | null = null;

  /** Tells how the document is built, once the application exists that it describes. */
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
    if (!this.build) throw new Error('The application has not said how its document is built.');
    this.built ??= wrap(this.build());
    return this.built;
  }
}

const wrap = (document: OpenAPIObject) => ({ document, text: new RawJson(JSON.stringify(document)) });
