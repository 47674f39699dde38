import { IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { ApiProperty } from '@nestjs/swagger';
import { IsOneOf } from '#platform/http';
import { MetadataBodyDto } from '../../resources';
import { MEDIA_TYPE } from '../files/file.entity';

const ENCODINGS = ['utf-8', 'base64'] as const;

/** The declaration of a small file in an app. Upload larger files instead. */
export class FileSpecDto extends MetadataBodyDto {
  @IsString()
  content!: string;

  /** The encoding of `content`. Defaults to `utf-8`. */
  @IsOptional()
  @IsOneOf(ENCODINGS, { required: false, nullable: true })
  encoding?: (typeof ENCODINGS)[number] | null;

  /** Defaults to `application/octet-stream`. */
  @IsOptional()
  @IsString()
  @MaxLength(255)
  @Matches(MEDIA_TYPE, { message: 'must be a media type in lower case without parameters, such as text/csv' })
  @ApiProperty({ required: false, nullable: true, type: String })
  media_type?: string | null;
}
