use strict;
use warnings;
use DBI;

my $db = DBI->connect("dbi:SQLite:dbname=:memory:", "", "", { RaiseError => 1 });
$db->sqlite_enable_load_extension(1);
$db->sqlite_load_extension("./glove");
$db->selectall_arrayref("SELECT glove_load('glove.safetensors')");
my $rows = $db->selectall_arrayref("SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)", {}, "piano");
print "@$_\n" for @$rows;
