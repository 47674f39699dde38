import { Module } from '@nestjs/common';
import { FileVersionController } from './files/file-version.controller';
import { FileController } from './files/file.controller';
import { FilesModule } from './files.module';

/** The routes under /file/v1. */
@Module({ imports: [FilesModule], controllers: [FileController, FileVersionController] })
export class FilesHttpModule {}
