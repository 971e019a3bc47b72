<?php
// php.ini, or -d on the command line, must name the folder of glove.so: sqlite3.extension_dir = /path/to/folder
$db = new SQLite3(':memory:');
$db->enableExceptions(true);
$db->loadExtension('glove.so');
$db->querySingle("SELECT glove_load('glove.safetensors')");
$nearest = $db->prepare('SELECT neighbor, round(similarity, 4) FROM glove_nn(?, NULL, 3)');
$nearest->bindValue(1, 'piano');
$rows = $nearest->execute();
while ($row = $rows->fetchArray(SQLITE3_NUM)) echo implode(' ', $row), "\n";
